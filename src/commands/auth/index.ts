import { defineGroup } from '../../cli/kit/command.ts';

export const auth = defineGroup({
  summary: 'Sign in and out, and see with what',
  commands: {
    login: () => import('./login.ts'),
    logout: () => import('./logout.ts'),
    status: () => import('./status.ts'),
    token: () => import('./token.ts'),
  },
});

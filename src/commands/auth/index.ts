import { defineGroup } from '../../cli/kit/command.ts';

export const auth = defineGroup({
  summary: 'Sign in, sign out, and show the credential in use',
  commands: {
    login: () => import('./login.ts'),
    logout: () => import('./logout.ts'),
    status: () => import('./status.ts'),
    token: () => import('./token.ts'),
  },
});

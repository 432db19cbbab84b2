import { defineGroup } from '../../../cli/kit/command.ts';

export const client = defineGroup({
  summary: 'Manage the OAuth clients of the local service',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    revoke: () => import('./revoke.ts'),
  },
});

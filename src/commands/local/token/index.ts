import { defineGroup } from '../../../cli/kit/command.ts';

export const token = defineGroup({
  summary: 'Manage the tokens of the local service',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    revoke: () => import('./revoke.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const team = defineGroup({
  summary: 'Manage the teams of the local service',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
  },
});

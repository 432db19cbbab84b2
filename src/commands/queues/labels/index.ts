import { defineGroup } from '../../../cli/kit/command.ts';

export const labels = defineGroup({
  summary: 'Manage the labels of a queue',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
  },
});

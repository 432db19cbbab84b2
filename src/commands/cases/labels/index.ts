import { defineGroup } from '../../../cli/kit/command.ts';

export const labels = defineGroup({
  summary: 'Manage the labels of a case',
  commands: {
    list: () => import('./list.ts'),
    add: () => import('./add.ts'),
    remove: () => import('./remove.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const connections = defineGroup({
  summary: 'Manage the connections of an artifact',
  commands: {
    list: () => import('./list.ts'),
    attach: () => import('./attach.ts'),
    detach: () => import('./detach.ts'),
  },
});

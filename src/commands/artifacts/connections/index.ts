import { defineGroup } from '../../../cli/kit/command.ts';

export const connections = defineGroup({
  summary: 'Connections that a page may be made from',
  commands: {
    list: () => import('./list.ts'),
    attach: () => import('./attach.ts'),
    detach: () => import('./detach.ts'),
  },
});

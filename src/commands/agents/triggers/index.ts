import { defineGroup } from '../../../cli/kit/command.ts';

export const triggers = defineGroup({
  summary: 'Manage case triggers, which assign agents to queues',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    get: () => import('./get.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    preview: () => import('./preview.ts'),
  },
});

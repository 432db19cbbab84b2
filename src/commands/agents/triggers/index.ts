import { defineGroup } from '../../../cli/kit/command.ts';

export const triggers = defineGroup({
  summary: 'Case triggers, which have agents work on queues',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    get: () => import('./get.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    preview: () => import('./preview.ts'),
  },
});

import { defineGroup } from '../../cli/kit/command.ts';
import { labels } from './labels/index.ts';

export const queues = defineGroup({
  summary: 'Manage the queues of cases that agents work on',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    clear: () => import('./clear.ts'),
    agents: () => import('./agents.ts'),
    labels,
  },
});

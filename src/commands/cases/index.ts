import { defineGroup } from '../../cli/kit/command.ts';
import { labels } from './labels/index.ts';

export const cases = defineGroup({
  summary: 'Manage cases, the work items of a queue',
  commands: {
    list: () => import('./list.ts'),
    search: () => import('./search.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    delete: () => import('./delete.ts'),
    wait: () => import('./wait.ts'),
    retry: () => import('./retry.ts'),
    reprocess: () => import('./reprocess.ts'),
    'set-priority': () => import('./set-priority.ts'),
    'set-status': () => import('./set-status.ts'),
    runs: () => import('./runs.ts'),
    messages: () => import('./messages.ts'),
    labels,
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const schedules = defineGroup({
  summary: 'Times at which runs of an agent are started',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    next: () => import('./next.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const schedules = defineGroup({
  summary: 'Manage the schedules of an agent',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    next: () => import('./next.ts'),
  },
});

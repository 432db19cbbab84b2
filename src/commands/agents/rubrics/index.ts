import { defineGroup } from '../../../cli/kit/command.ts';

export const rubrics = defineGroup({
  summary: 'What the runs of an agent are judged by when they have ended',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    replace: () => import('./replace.ts'),
    platform: () => import('./platform.ts'),
  },
});

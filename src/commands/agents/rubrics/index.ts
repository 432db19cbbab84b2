import { defineGroup } from '../../../cli/kit/command.ts';

export const rubrics = defineGroup({
  summary: 'Manage the rubrics that finished runs are evaluated with',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    replace: () => import('./replace.ts'),
    platform: () => import('./platform.ts'),
  },
});

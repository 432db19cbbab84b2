import { defineGroup } from '../../define.ts';

export const team = defineGroup({
  summary: 'Teams of the local service, which see nothing of each other',
  commands: {
    create: () => import('./create.ts'),
    list: () => import('./list.ts'),
    rename: () => import('./rename.ts'),
    delete: () => import('./delete.ts'),
  },
});

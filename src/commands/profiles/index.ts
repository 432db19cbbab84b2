import { defineGroup } from '../../cli/kit/command.ts';

export const profiles = defineGroup({
  summary: 'Services and teams you work with, by name',
  commands: {
    list: () => import('./list.ts'),
    use: () => import('./use.ts'),
    rename: () => import('./rename.ts'),
    delete: () => import('./delete.ts'),
  },
});

import { defineGroup } from '../../cli/kit/command.ts';

export const profiles = defineGroup({
  summary: 'Manage profiles for services and teams',
  commands: {
    list: () => import('./list.ts'),
    use: () => import('./use.ts'),
    rename: () => import('./rename.ts'),
    delete: () => import('./delete.ts'),
  },
});

import { defineGroup } from '../../cli/kit/command.ts';

export const alias = defineGroup({
  summary: 'Create short names for commands',
  commands: {
    set: () => import('./set.ts'),
    list: () => import('./list.ts'),
    delete: () => import('./delete.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const plan = defineGroup({
  summary: 'Manage the plans of teams on a shared database',
  commands: {
    set: () => import('./set.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const secret = defineGroup({
  summary: 'Show or rotate the signing secret of the team',
  commands: { show: () => import('./show.ts'), rotate: () => import('./rotate.ts') },
});

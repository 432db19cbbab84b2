import { defineGroup } from '../../../cli/kit/command.ts';

export const secret = defineGroup({
  summary: 'The secret that deliveries of the team are signed with',
  commands: { show: () => import('./show.ts'), rotate: () => import('./rotate.ts') },
});

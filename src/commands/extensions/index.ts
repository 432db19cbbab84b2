import { defineGroup } from '../../cli/kit/command.ts';

export const extensions = defineGroup({
  summary: 'Find programs that add commands',
  commands: { list: () => import('./list.ts') },
});

import { defineGroup } from '../../cli/kit/command.ts';

export const plugins = defineGroup({
  summary: 'What agents can be built with',
  commands: { list: () => import('./list.ts') },
});

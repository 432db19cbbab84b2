import { defineGroup } from '../../cli/kit/command.ts';

export const plugins = defineGroup({
  summary: 'List the plugins that agents can use',
  commands: { list: () => import('./list.ts') },
});

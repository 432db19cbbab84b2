import { defineGroup } from '../../../cli/kit/command.ts';

export const acp = defineGroup({
  summary: 'Show which agents of the Agent Client Protocol can be run',
  commands: { list: () => import('./list.ts'), get: () => import('./get.ts') },
});

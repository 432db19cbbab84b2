import { defineGroup } from '../../../cli/kit/command.ts';

export const memory = defineGroup({
  summary: 'What an agent remembers from run to run',
  commands: { list: () => import('./list.ts'), get: () => import('./get.ts'), pull: () => import('./pull.ts') },
});

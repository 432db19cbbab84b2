import { defineGroup } from '../../../cli/kit/command.ts';

export const memory = defineGroup({
  summary: 'Read the memory files of an agent',
  commands: { list: () => import('./list.ts'), get: () => import('./get.ts'), pull: () => import('./pull.ts') },
});

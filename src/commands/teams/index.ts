import { defineGroup } from '../../cli/kit/command.ts';

export const teams = defineGroup({
  summary: 'Show your teams',
  commands: { list: () => import('./list.ts'), get: () => import('./get.ts') },
});

import { defineGroup } from '../../cli/kit/command.ts';

export const teams = defineGroup({
  summary: 'Show your team',
  commands: { get: () => import('./get.ts') },
});

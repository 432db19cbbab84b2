import { defineGroup } from '../../cli/kit/command.ts';

export const teams = defineGroup({
  summary: 'The team that you work in',
  commands: { get: () => import('./get.ts') },
});

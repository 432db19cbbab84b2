import { defineGroup } from '../define.ts';

export const teams = defineGroup({
  summary: 'The team that you work in',
  commands: { get: () => import('./get.ts') },
});

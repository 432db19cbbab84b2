import { defineGroup } from '../../cli/kit/command.ts';

export const config = defineGroup({
  summary: 'Settings, and where each value comes from',
  commands: {
    get: () => import('./get.ts'),
    set: () => import('./set.ts'),
    list: () => import('./list.ts'),
    explain: () => import('./explain.ts'),
  },
});

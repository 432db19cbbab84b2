import { defineGroup } from '../../cli/kit/command.ts';

export const config = defineGroup({
  summary: 'Show and change settings',
  commands: {
    get: () => import('./get.ts'),
    set: () => import('./set.ts'),
    list: () => import('./list.ts'),
    explain: () => import('./explain.ts'),
    trust: () => import('./trust.ts'),
    untrust: () => import('./untrust.ts'),
  },
});

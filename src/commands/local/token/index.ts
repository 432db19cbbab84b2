import { defineGroup } from '../../define.ts';

export const token = defineGroup({
  summary: 'Create, list and revoke tokens of the local service',
  commands: {
    create: () => import('./create.ts'),
    list: () => import('./list.ts'),
    revoke: () => import('./revoke.ts'),
  },
});

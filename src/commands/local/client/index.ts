import { defineGroup } from '../../define.ts';

export const client = defineGroup({
  summary: 'Create, list and revoke OAuth clients of the local service',
  commands: {
    create: () => import('./create.ts'),
    list: () => import('./list.ts'),
    revoke: () => import('./revoke.ts'),
  },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const client = defineGroup({
  summary: 'Create, list and revoke OAuth clients of the local service',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    revoke: () => import('./revoke.ts'),
  },
});

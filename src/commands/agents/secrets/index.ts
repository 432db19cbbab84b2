import { defineGroup } from '../../../cli/kit/command.ts';

export const secrets = defineGroup({
  summary: 'Manage the secrets of an agent',
  commands: { list: () => import('./list.ts'), set: () => import('./set.ts'), delete: () => import('./delete.ts') },
});

import { defineGroup } from '../../../cli/kit/command.ts';

export const team = defineGroup({
  summary: 'Teams of the local service, which see nothing of each other',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
  },
});

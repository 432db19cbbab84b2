import { defineGroup } from '../../cli/kit/command.ts';

export const connections = defineGroup({
  summary: 'Manage connections to remote MCP servers',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    probe: () => import('./probe.ts'),
    tools: () => import('./tools.ts'),
    describe: () => import('./describe.ts'),
    'check-oauth': () => import('./check-oauth.ts'),
    authorize: () => import('./authorize.ts'),
  },
});

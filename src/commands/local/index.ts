import { aliasOf, defineGroup } from '../../cli/kit/command.ts';
import { client } from './client/index.ts';
import { plan } from './plan/index.ts';
import { team } from './team/index.ts';
import { token } from './token/index.ts';

export const local = defineGroup({
  summary: 'Run a local service and manage who can use it',
  commands: {
    up: () => import('./up.ts'),
    down: () => import('./down.ts'),
    status: () => import('./status.ts'),
    open: () => import('./open.ts'),
    logs: () => import('./logs.ts'),
    reset: () => import('./reset.ts'),
    backup: () => import('./backup.ts'),
    restore: () => import('./restore.ts'),
    export: () => import('./export.ts'),
    import: () => import('./import.ts'),
    token,
    client,
    team,
    plan,
    start: aliasOf('up'),
    stop: aliasOf('down'),
  },
});

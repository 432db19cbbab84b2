import { defineGroup } from '../define.ts';

export const local = defineGroup({
  summary: 'A service of your own on this machine: start, look at, stop it',
  commands: {
    up: () => import('./up.ts'),
    down: () => import('./down.ts'),
    status: () => import('./status.ts'),
    logs: () => import('./logs.ts'),
    reset: () => import('./reset.ts'),
  },
});

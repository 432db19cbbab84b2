import { defineGroup } from '../../cli/kit/command.ts';
import { secret } from './secret/index.ts';

export const webhooks = defineGroup({
  summary: 'Manage webhooks and their deliveries',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    deliveries: () => import('./deliveries.ts'),
    delivery: () => import('./delivery.ts'),
    resend: () => import('./resend.ts'),
    secret,
    verify: () => import('./verify.ts'),
    listen: () => import('./listen.ts'),
    trigger: () => import('./trigger.ts'),
  },
});

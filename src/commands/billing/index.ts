import { defineGroup } from '../../cli/kit/command.ts';

export const billing = defineGroup({
  summary: "Show the team's plan and its usage",
  commands: {
    usage: () => import('./usage.ts'),
    entitlements: () => import('./entitlements.ts'),
  },
});

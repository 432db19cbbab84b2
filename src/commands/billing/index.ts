import { defineGroup } from '../../cli/kit/command.ts';

export const billing = defineGroup({
  summary: "What the team's plan contains, and what is used of it",
  commands: {
    usage: () => import('./usage.ts'),
    entitlements: () => import('./entitlements.ts'),
  },
});

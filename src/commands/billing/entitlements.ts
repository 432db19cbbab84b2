import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { TeamEntitlements } from '../../interface/types.ts';

export default defineCommand({
  summary: "Show what the team's plan contains",
  operations: ['getTeamEntitlements'],
  examples: [
    { command: 'aops billing entitlements', text: 'The plan and its features' },
    { command: 'aops billing entitlements --jq .maxConcurrentRuns', text: 'How many runs are executed at a time' },
  ],
  result: returns('getTeamEntitlements'),
  output: recordOutput<TeamEntitlements>((plan) => ({
    Plan: plan.plan,
    Products: plan.products,
    Features: plan.features,
    'Runs at a time': plan.maxConcurrentRuns,
    'Runs counted': plan.runCountingMode,
  })),
  async run(context) {
    const client = await context.client();
    return client.call('getTeamEntitlements', { params: { teamId: context.teamId() } });
  },
});

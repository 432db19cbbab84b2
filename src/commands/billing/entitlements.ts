import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { TeamEntitlements } from '../../interface/types.ts';

export default defineCommand({
  summary: "Show the features of the team's plan",
  options: webFlag,
  operations: ['getTeamEntitlements', 'createPageCode'],
  examples: [
    { command: 'aops billing entitlements', text: 'Show the plan and its features' },
    { command: 'aops billing entitlements --jq .maxConcurrentRuns', text: 'Print how many runs can execute at the same time' },
  ],
  result: returns('getTeamEntitlements'),
  output: recordOutput<TeamEntitlements>((plan) => ({
    Plan: plan.plan,
    Products: plan.products,
    Features: plan.features,
    'Runs at a time': plan.maxConcurrentRuns,
    'Runs counted': plan.runCountingMode,
  })),
  async run(context, input) {
    if (input.web) return openTeamPage(context, '/usage');
    const client = await context.client();
    return client.call('getTeamEntitlements', { params: { teamId: context.teamId() } });
  },
});

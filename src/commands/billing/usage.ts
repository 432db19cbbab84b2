import { AopsError, exitCodes } from '../../base/errors.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { integer } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { TeamUsage } from '../../interface/types.ts';
import { type Bar, renderBars, usedShare } from '../../terminal/bars.ts';
import { renderRecord } from '../../terminal/record.ts';

export default defineCommand({
  summary: "Show the team's usage in the current period",
  description:
    'Runs and interviews are counted over the period; agents (assignments) and executing runs (concurrency) are current figures.\n\nWith --fail-over, the exit code is 6 if more than that share of any limit is used. Figures without a limit never exceed it.',
  options: {
    failOver: integer('PERCENT', 'Exit with 6 if more than this share of a limit is used', { minimum: 0, maximum: 100 }),
    ...webFlag,
  },
  operations: ['getTeamUsage', 'createPageCode'],
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops billing usage', text: 'Show usage, limits, and remaining amounts' },
    {
      command: 'aops billing usage --fail-over 80 --quiet > /dev/null || mail -s "aops: nearly used up" ops',
      text: 'Send an alert from cron',
    },
    { command: 'aops billing usage --jq .agentRuns.remaining', text: 'Print a single figure' },
  ],
  result: returns('getTeamUsage'),
  output: documentOutput<TeamUsage>(async (usage, view) => {
    const { start, end } = usage.period;
    // Absolute dates: "in 13 days" would not describe a period.
    const period = view.tty ? `${start?.slice(0, 10) ?? 'the beginning'} to ${end?.slice(0, 10) ?? 'now'}` : `${start ?? ''}/${end ?? ''}`;
    return `${await renderRecord([{ label: 'Period', value: period }], view)}${view.tty ? '\n' : ''}${await renderBars(bars(usage), view)}`;
  }),
  async run(context, input) {
    if (input.web) {
      refuseWithWeb(input, { failOver: 'the page has no exit code' });
      return openTeamPage(context, '/usage');
    }
    const client = await context.client();
    const usage = await client.call('getTeamUsage', { params: { teamId: context.teamId() } });
    const { failOver } = input;
    const over = bars(usage).filter((bar) => failOver !== undefined && (usedShare(bar) ?? 0) * 100 > failOver);
    if (over.length === 0) return usage;
    const figures = over.map(({ label, used, limit }) => `${label} ${used} of ${limit}`).join(', ');
    throw new ResultError(
      new AopsError(`More than ${failOver}% is used: ${figures}.`, { code: 'usage_over', exit: exitCodes.conflict }),
      usage,
    );
  },
});

function bars({ agentRuns, assignments, concurrency, clarityInterviews }: TeamUsage): Bar[] {
  const figures = { 'Agent runs': agentRuns, Assignments: assignments, Concurrency: concurrency, 'Clarity interviews': clarityInterviews };
  return Object.entries(figures).map(([label, { used, limit }]) => ({ label, used, limit: typeof limit === 'number' ? limit : undefined }));
}

import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runWord } from '../../cli/names/run-names.ts';
import type { CaseRun } from '../../interface/types.ts';
import { caseArgument } from './record.ts';

export default defineCommand({
  summary: 'List the runs that worked on a case, newest first',
  arguments: { case: caseArgument },
  options: webFlag,
  operations: ['listCaseRuns', 'createPageCode'],
  examples: [{ command: 'aops cases runs CASE', text: 'List the runs of a case' }],
  result: returns('listCaseRuns.runs[]'),
  output: listOutput<CaseRun>({
    columns: [
      column('RUN', runWord),
      statusColumn((run) => run.status),
      column('AGENT', (run) => run.agent_name, { shrink: true }),
      column('ASKS', (run) => run.pending_human_request_title, { shrink: true }),
      timeColumn('CLAIMED', (run) => run.claimed_at),
      idColumn((run) => run.id, { minViewWidth: wideViewForIds }),
    ],
    empty: 'No run has worked on this case.',
  }),
  async run(context, input) {
    if (input.web) return openTeamPage(context, `/cases/${input.case}`);
    const client = await context.client();
    return wholeList((await client.call('listCaseRuns', { params: { case_id: input.case } })).runs);
  },
});

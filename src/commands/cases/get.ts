import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { column, documentOutput, nextStep, recordFields, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Case, CaseEvent, Response } from '../../interface/types.ts';
import { caseArgument, caseRecord } from './record.ts';

type CaseDetails = Case & Omit<Response<'getCase'>, 'case'>;

export default defineCommand({
  summary: 'Show a case with its data and history',
  arguments: { case: caseArgument },
  options: webFlag,
  operations: ['getCase', 'createPageCode'],
  examples: [
    { command: 'aops cases get CASE', text: 'Show a case' },
    { command: "aops cases get CASE --jq '.data | fromjson | .amount'", text: 'Print a value from its data' },
  ],
  result: returns('getCase.case', { events: 'object[]', approvalBatches: 'object[]' }),
  output: documentOutput<CaseDetails>(async (details, view) => {
    const { renderSheet } = await import('../../terminal/sheet.ts');
    const { renderTable } = await import('../../terminal/table.ts');
    const sheet = await renderSheet(
      [
        { title: 'Case', fields: recordFields({ ...caseRecord(details), Next: nextStep(nextCommand(details), view) }) },
        { title: 'Data', fields: recordFields(details.data === '' ? {} : { Data: details.data }) },
      ],
      view,
    );
    const history = await renderTable(details.events, historyColumns, view);
    return view.tty && history !== '' ? `${sheet}\n${history}` : sheet + history;
  }),
  async run(context, input) {
    if (input.web) return openTeamPage(context, `/cases/${input.case}`);
    const client = await context.client();
    const { case: row, ...more } = await client.call('getCase', { params: { case_id: input.case } });
    return { ...row, ...more };
  },
});

/** The command for the next step. */
function nextCommand({ id, display_status: displayStatus, claimed_by_run_id: run }: Case): string | undefined {
  if (run !== null && (displayStatus === 'needs_input' || displayStatus === 'in_progress')) return `aops runs watch ${run}`;
  return displayStatus === 'failed' ? `aops cases retry ${id}` : undefined;
}

const historyColumns = [
  timeColumn('TIME', (event: CaseEvent) => event.created_at),
  column('WHAT HAPPENED', (event: CaseEvent) => event.type),
  column('BY', (event: CaseEvent) => event.agent_name ?? event.user_name, { shrink: true }),
  column('REQUEST', (event: CaseEvent) => event.human_request_title, { shrink: true }),
  column('REASON', (event: CaseEvent) => event.reason, { shrink: true }),
];

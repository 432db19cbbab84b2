import type { CaseEvent, Response } from '../../interface/types.ts';
import { defineCommand } from '../define.ts';
import { column, documentOutput, recordFields, timeColumn } from '../output.ts';
import { returns } from '../result.ts';
import { caseArgument, caseRecord } from './record.ts';

type Seen = Response<'getCase'>;

export default defineCommand({
  summary: 'Show a case, its data and what happened to it',
  arguments: { case: caseArgument },
  operations: ['getCase'],
  examples: [
    { command: 'aops cases get CASE', text: 'A sheet to read' },
    { command: "aops cases get CASE --jq '.case.data | fromjson | .amount'", text: 'A value of its data' },
  ],
  result: returns('getCase'),
  output: documentOutput<Seen>(async (seen, view) => {
    const { renderSheet } = await import('../../terminal/sheet.ts');
    const { renderTable } = await import('../../terminal/table.ts');
    const sheet = await renderSheet(
      [
        { title: 'Case', fields: recordFields(caseRecord(seen.case)) },
        { title: 'Data', fields: recordFields(seen.case.data === '' ? {} : { Data: seen.case.data }) },
      ],
      view,
    );
    const history = await renderTable(seen.events, historyColumns, view);
    return view.tty && history !== '' ? `${sheet}\n${history}` : sheet + history;
  }),
  async run(context, input) {
    const client = await context.client();
    return client.call('getCase', { params: { case_id: input.case } });
  },
});

const historyColumns = [
  timeColumn('TIME', (event: CaseEvent) => event.created_at),
  column('WHAT HAPPENED', (event: CaseEvent) => event.type),
  column('AGENT', (event: CaseEvent) => event.agent_name, { shrink: true }),
  column('REQUEST', (event: CaseEvent) => event.human_request_title, { shrink: true }),
  column('REASON', (event: CaseEvent) => event.reason, { shrink: true }),
];

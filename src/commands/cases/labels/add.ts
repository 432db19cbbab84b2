import { chunks } from '../../../base/chunks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { manyArguments } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { labelForm, readLabel } from '../../../cli/names/label.ts';
import type { Label } from '../../../interface/types.ts';
import { caseArgument } from '../record.ts';
import { labelColumns } from './own.ts';

/** Labels of one request at the most, as the interface has it. Each request answers with all that the case has. */
const mostLabels = 50;

export default defineCommand({
  summary: 'Put labels on a case',
  description: 'Those that the queue does not have are created.',
  arguments: { case: caseArgument, labels: manyArguments('The labels: KEY=VALUE, or VALUE', { check: labelForm }) },
  operations: ['getCase', 'assignCaseLabels'],
  mutates: true,
  examples: [{ command: 'aops cases labels add CASE vendor=acme urgent', text: 'Two labels' }],
  result: returns('assignCaseLabels.labels[]'),
  output: listOutput<Label>({ columns: labelColumns, empty: 'No labels.' }),
  async run(context, input) {
    const client = await context.client();
    const { case: row } = await client.call('getCase', { params: { case_id: input.case } });
    const params = { queue_id: row.queue_id, case_id: row.id };
    let assigned: Label[] = [];
    for (const labels of chunks(input.labels.map(readLabel), mostLabels))
      assigned = (await client.call('assignCaseLabels', { params, body: { labels } })).labels;
    return wholeList(assigned);
  },
});

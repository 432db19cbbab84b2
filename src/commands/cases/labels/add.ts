import { chunks } from '../../../base/chunks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { repeatedArgument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { labelForm, readLabel } from '../../../cli/names/label.ts';
import type { Label } from '../../../interface/types.ts';
import { caseArgument } from '../record.ts';
import { labelColumns } from './own.ts';

/** The maximum number of labels per request. Each response contains all labels of the case. */
const maxLabels = 50;

export default defineCommand({
  summary: 'Add labels to a case',
  description: 'Labels that the queue does not have yet are created.',
  arguments: { case: caseArgument, labels: repeatedArgument('The labels: KEY=VALUE or VALUE', { check: labelForm }) },
  operations: ['getCase', 'assignCaseLabels'],
  mutates: true,
  examples: [{ command: 'aops cases labels add CASE vendor=acme urgent', text: 'Add two labels' }],
  result: returns('assignCaseLabels.labels[]'),
  output: listOutput<Label>({ columns: labelColumns, empty: 'The case has no labels.' }),
  async run(context, input) {
    const client = await context.client();
    const { case: row } = await client.call('getCase', { params: { case_id: input.case } });
    const params = { queue_id: row.queue_id, case_id: row.id };
    let assignedLabels: Label[] = [];
    for (const labels of chunks(input.labels.map(readLabel), maxLabels))
      assignedLabels = (await client.call('assignCaseLabels', { params, body: { labels } })).labels;
    return wholeList(assignedLabels);
  },
});

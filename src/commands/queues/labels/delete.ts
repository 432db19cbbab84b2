import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { findLabel, labelText } from '../../../cli/names/label.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import { queueArgument } from '../../../cli/records/queue.ts';

export default defineCommand({
  summary: 'Delete a label of a queue, and take it off all cases',
  arguments: { queue: queueArgument, label: argument('The label, by id or as KEY=VALUE', { complete: 'labels' }) },
  operations: ['listQueues', 'listQueueLabels', 'deleteQueueLabel'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues labels delete invoices vendor=acme --yes', text: 'In a script' }],
  result: returns('deleteQueueLabel', { id: 'uuid', label: 'string', case_count: 'integer' }),
  output: textOutput<{ label: string; case_count: number }>(
    ({ label, case_count: count }) => `Deleted the label ${label}; ${count} ${count === 1 ? 'case' : 'cases'} had it.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const id = await queueId(context, input.queue);
    const label = await findLabel(context, id, input.label);
    const { case_count } = label;
    await confirm(context, `Delete the label "${labelText(label)}", which ${case_count} ${case_count === 1 ? 'case has' : 'cases have'}?`);
    const answer = await client.call('deleteQueueLabel', { params: { queue_id: id, label_id: label.id } });
    return { id: label.id, label: labelText(label), case_count, ...answer };
  },
});

import { pluralize } from '../../../base/pluralize.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { findLabel, labelText } from '../../../cli/names/label.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import { queueArgument } from '../../../cli/records/queue.ts';

export default defineCommand({
  summary: 'Delete a label of a queue and remove it from all cases',
  arguments: { queue: queueArgument, label: argument('The label, by ID or as KEY=VALUE', { complete: 'labels' }) },
  operations: ['listQueues', 'listQueueLabels', 'deleteQueueLabel'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues labels delete invoices vendor=acme --yes', text: 'Delete a label without confirmation' }],
  result: returns('deleteQueueLabel', { id: 'uuid', label: 'string', case_count: 'integer' }),
  output: textOutput<{ label: string; case_count: number }>(
    ({ label, case_count: count }) => `Deleted the label ${label} and removed it from ${pluralize(count, 'case')}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const id = await queueId(context, input.queue);
    const label = await findLabel(context, id, input.label);
    const { case_count } = label;
    await confirm(context, `Delete the label "${labelText(label)}" and remove it from ${pluralize(case_count, 'case')}?`);
    const answer = await client.call('deleteQueueLabel', { params: { queue_id: id, label_id: label.id } });
    return { id: label.id, label: labelText(label), case_count, ...answer };
  },
});

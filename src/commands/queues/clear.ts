import { pluralize } from '../../base/pluralize.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import { confirmLoss } from './confirm-loss.ts';

export default defineCommand({
  summary: 'Delete all cases of a queue',
  description: 'Runs that are working on the cases are interrupted. The queue and its labels remain.',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'getQueue', 'searchCases', 'clearQueueCases'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues clear invoices --yes', text: 'Clear a queue without confirmation' }],
  result: returns('clearQueueCases', { id: 'uuid', name: 'string' }),
  output: textOutput<{ name: string; deletedCount: number }>(
    ({ name, deletedCount: count }) => `Deleted ${pluralize(count, 'case')} of ${name}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const { id, name } = await confirmLoss(context, input.queue, (queue) => `Delete all cases of the queue "${queue}"?`);
    return { id, name, ...(await client.call('clearQueueCases', { params: { queue_id: id } })) };
  },
});

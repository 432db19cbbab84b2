import { pluralize } from '../../base/pluralize.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import { confirmLoss } from './confirm-loss.ts';

export default defineCommand({
  summary: 'Delete a queue and its cases',
  description: 'Runs that are working on its cases are interrupted. A queue with a case trigger cannot be deleted.',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'getQueue', 'searchCases', 'deleteQueue'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues delete invoices --yes', text: 'Delete a queue without confirmation' }],
  result: returns('deleteQueue', { id: 'uuid', name: 'string' }),
  output: textOutput<{ name: string; deleted_case_count: number }>(
    ({ name, deleted_case_count: count }) => `Deleted the queue ${name} with ${pluralize(count, 'case')}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const { id, name } = await confirmLoss(context, input.queue, (queue) => `Delete the queue "${queue}" and its cases?`);
    return { id, name, ...(await client.call('deleteQueue', { params: { queue_id: id } })) };
  },
});

import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import { confirmLoss } from './confirm-loss.ts';

export default defineCommand({
  summary: 'Delete a queue with its cases',
  description: 'Runs that work on its cases are interrupted. A queue that an agent has a case trigger on is not deleted.',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'getQueue', 'searchCases', 'deleteQueue'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues delete invoices --yes', text: 'In a script' }],
  result: returns('deleteQueue', { id: 'uuid', name: 'string' }),
  output: textOutput<{ name: string; deleted_case_count: number }>(
    ({ name, deleted_case_count: count }) => `Deleted the queue ${name} with ${count} ${count === 1 ? 'case' : 'cases'}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const { id, name } = await confirmLoss(context, input.queue, (queue) => `Delete the queue "${queue}" and its cases?`);
    return { id, name, ...(await client.call('deleteQueue', { params: { queue_id: id } })) };
  },
});

import { caseCounts, describeCounts, warnOfRuns } from '../cases/counts.ts';
import { confirm } from '../confirm.ts';
import { defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';
import { queueId } from '../resolve.ts';
import { returns } from '../result.ts';
import { queueArgument } from './record.ts';

export default defineCommand({
  summary: 'Delete all cases of a queue',
  description: 'Runs that work on them are interrupted. The queue and its labels stay.',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'getQueue', 'searchCases', 'clearQueueCases'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops queues clear invoices --yes', text: 'In a script' }],
  result: returns('clearQueueCases', { id: 'uuid', name: 'string' }),
  output: textOutput<{ name: string; deletedCount: number }>(
    ({ name, deletedCount: count }) => `Deleted ${count} ${count === 1 ? 'case' : 'cases'} of ${name}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    const { queue } = await client.call('getQueue', { params });
    const counts = await caseCounts(client, queue.id);
    context.terminal.note(`${queue.name}: ${describeCounts(counts)}`);
    await confirm(context, `Delete all cases of the queue "${queue.name}"?${warnOfRuns(counts)}`);
    return { id: queue.id, name: queue.name, ...(await client.call('clearQueueCases', { params })) };
  },
});

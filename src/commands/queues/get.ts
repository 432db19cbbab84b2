import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { queueId } from '../resolve.ts';
import { returns } from '../result.ts';
import { queueArgument, queueRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a queue',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'getQueue'],
  examples: [{ command: 'aops queues get invoices', text: 'By name' }],
  result: returns('getQueue.queue'),
  output: recordOutput(queueRecord),
  async run(context, input) {
    const client = await context.client();
    return (await client.call('getQueue', { params: { queue_id: await queueId(context, input.queue) } })).queue;
  },
});

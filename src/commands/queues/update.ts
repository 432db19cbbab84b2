import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { queueArgument, queueRecord } from '../../cli/records/queue.ts';
import type { Queue } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Change the name, description, or folder of a queue',
  arguments: { queue: queueArgument },
  options: {
    name: text('NAME', 'New name', { check: length(1, 100) }),
    description: text('TEXT', 'New description; an empty text removes it', { check: length(0, 500) }),
    folder: text('ID', 'New folder; an empty text removes the queue from its folder', {
      check: (value, name) => (value === '' ? '' : uuid(value, name)),
    }),
  },
  operations: ['listQueues', 'updateQueue'],
  mutates: true,
  examples: [{ command: 'aops queues update invoices --name bills', text: 'Rename a queue' }],
  result: returns('updateQueue.queue'),
  output: recordOutput<Queue>(queueRecord),
  async run(context, input) {
    const client = await context.client();
    const description = input.description === '' ? null : input.description;
    const folder = input.folder === '' ? null : input.folder;
    const body = omitUndefined({ name: input.name, description, folder_id: folder });
    if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change.', 'Pass --name, --description, or --folder.');
    return (await client.call('updateQueue', { params: { queue_id: await queueId(context, input.queue) }, body })).queue;
  },
});

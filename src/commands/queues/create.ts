import { omitUndefined } from '../../base/omit-undefined.ts';
import { length, uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueRecord } from '../../cli/records/queue.ts';
import type { Queue } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Create a queue',
  description: 'Names are unique in a team. Add cases with `aops cases create`, and assign an agent with `aops agents triggers create`.',
  arguments: { name: argument('The name of the queue', { check: length(1, 100) }) },
  options: {
    description: text('TEXT', 'Description of the queue', { check: length(0, 500) }),
    folder: text('ID', 'Folder of the queue', { check: uuid }),
    automation: text('ID', 'Automation that the queue belongs to', { check: uuid }),
  },
  operations: ['createQueue'],
  mutates: true,
  examples: [{ command: "aops queues create invoices --description 'Invoices to check'", text: 'Create a queue with a description' }],
  result: returns('createQueue.queue'),
  output: recordOutput<Queue>(queueRecord),
  async run(context, input) {
    const client = await context.client();
    const body = {
      name: input.name,
      ...omitUndefined({ description: input.description, folder_id: input.folder, automation_id: input.automation }),
    };
    return (await client.call('createQueue', { params: { teamId: context.teamId() }, body })).queue;
  },
});

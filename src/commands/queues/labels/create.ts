import { omitUndefined } from '../../../base/omit-undefined.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, integer } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { labelForm, labelRecord, readLabel } from '../../../cli/names/label.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import { queueArgument } from '../../../cli/records/queue.ts';
import type { QueueLabel } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'Create a label in a queue',
  description: 'Labels are also created when they are added to a case. An existing label is not changed.',
  arguments: { queue: queueArgument, label: argument('The label: KEY=VALUE or VALUE', { check: labelForm }) },
  options: { hue: integer('N', 'Colour as a hue from 0 to 360', { minimum: 0, maximum: 360 }) },
  operations: ['listQueues', 'createQueueLabel'],
  mutates: true,
  examples: [{ command: 'aops queues labels create invoices vendor=acme --hue 120', text: 'Create a green label' }],
  result: returns('createQueueLabel.label'),
  output: recordOutput<QueueLabel>(labelRecord),
  async run(context, input) {
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    const body = { ...readLabel(input.label), ...omitUndefined({ color_hue: input.hue }) };
    return (await client.call('createQueueLabel', { params, body })).label;
  },
});

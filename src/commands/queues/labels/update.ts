import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, integer, text } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { findLabel, labelForm, labelRecord, readLabel } from '../../../cli/names/label.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import { queueArgument } from '../../../cli/records/queue.ts';
import type { Label } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'Change a label of a queue and of all its cases',
  arguments: { queue: queueArgument, label: argument('The label, by ID or as KEY=VALUE', { complete: 'labels' }) },
  options: {
    to: text('LABEL', 'The new label: KEY=VALUE or VALUE', { check: labelForm }),
    hue: integer('N', 'Colour as a hue from 0 to 360', { minimum: 0, maximum: 360 }),
  },
  operations: ['listQueues', 'listQueueLabels', 'updateQueueLabel'],
  mutates: true,
  examples: [{ command: "aops queues labels update invoices vendor=acme --to 'vendor=Acme GmbH'", text: 'Change the value of a label' }],
  result: returns('updateQueueLabel.label'),
  output: recordOutput<Label>(labelRecord),
  async run(context, input) {
    const client = await context.client();
    if (input.to === undefined && input.hue === undefined) throw new UsageError('There is nothing to change.', 'Pass --to or --hue.');
    const id = await queueId(context, input.queue);
    const label = await findLabel(context, id, input.label);
    const newLabel = input.to === undefined ? { key: label.key, value: label.value } : { key: '', ...readLabel(input.to) };
    const body = { ...newLabel, ...omitUndefined({ color_hue: input.hue }) };
    return (await client.call('updateQueueLabel', { params: { queue_id: id, label_id: label.id }, body })).label;
  },
});

import { UsageError } from '../../../base/errors.ts';
import { given } from '../../../base/given.ts';
import type { Label } from '../../../interface/types.ts';
import { argument, defineCommand, integer, text } from '../../define.ts';
import { recordOutput } from '../../output.ts';
import { queueId } from '../../resolve.ts';
import { returns } from '../../result.ts';
import { queueArgument } from '../record.ts';
import { findLabel, labelForm, labelRecord, readLabel } from './label.ts';

export default defineCommand({
  summary: 'Change a label of a queue, on all its cases',
  arguments: { queue: queueArgument, label: argument('The label, by id or as KEY=VALUE', { complete: 'labels' }) },
  options: {
    to: text('LABEL', 'What it says from now on: KEY=VALUE, or VALUE', { check: labelForm }),
    hue: integer('N', 'Colour, as a hue of 0 to 360', { minimum: 0, maximum: 360 }),
  },
  operations: ['listQueues', 'listQueueLabels', 'updateQueueLabel'],
  mutates: true,
  examples: [{ command: "aops queues labels update invoices vendor=acme --to 'vendor=Acme GmbH'", text: 'Say it another way' }],
  result: returns('updateQueueLabel.label'),
  output: recordOutput<Label>(labelRecord),
  async run(context, input) {
    const client = await context.client();
    if (input.to === undefined && input.hue === undefined) throw new UsageError('There is nothing to change.', 'Give --to or --hue.');
    const id = await queueId(context, input.queue);
    const label = await findLabel(context, id, input.label);
    const words = input.to === undefined ? { key: label.key, value: label.value } : { key: '', ...readLabel(input.to) };
    const body = { ...words, ...given({ color_hue: input.hue }) };
    return (await client.call('updateQueueLabel', { params: { queue_id: id, label_id: label.id }, body })).label;
  },
});

import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Response } from '../../interface/types.ts';
import { eachPart } from './each-part.ts';
import { bulkText, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Have failed cases worked on again',
  description:
    'They wait in their queue again. --all-matching means failed cases unless --status says otherwise. Cases that wait already, or that a run works on, are skipped.',
  arguments: selectionArguments,
  options: selectionFlags,
  operations: [...selectionOperations, 'bulkReprocessCases'],
  mutates: true,
  examples: [
    { command: 'aops cases retry CASE', text: 'One case' },
    { command: 'aops cases list invoices --status failed --search Acme -o id | aops cases retry -', text: 'Those of another command' },
    { command: 'aops cases retry --queue invoices --all-matching', text: 'Every case of the queue that failed' },
  ],
  result: returns('bulkReprocessCases'),
  output: textOutput<Response<'bulkReprocessCases'>>((counts) => bulkText('Retrying', counts.reprocessedCount, counts.skippedCount)),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input, { only: ['failed'] });
    return eachPart(selection, ({ queueId, body }) => client.call('bulkReprocessCases', { params: { queue_id: queueId }, body }));
  },
});

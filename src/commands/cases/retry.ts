import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Response } from '../../interface/types.ts';
import { eachPart } from './each-part.ts';
import { bulkText, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Retry failed cases',
  description:
    'The cases become pending again. Without --status, --all-matching selects failed cases. Cases that are pending or that a run is working on are skipped.',
  arguments: selectionArguments,
  options: selectionFlags,
  operations: [...selectionOperations, 'bulkReprocessCases'],
  mutates: true,
  examples: [
    { command: 'aops cases retry CASE', text: 'Retry a case' },
    {
      command: 'aops cases list invoices --status failed --search Acme -o id | aops cases retry -',
      text: 'Retry the cases that another command lists',
    },
    { command: 'aops cases retry --queue invoices --all-matching', text: 'Retry every failed case of a queue' },
  ],
  result: returns('bulkReprocessCases'),
  output: textOutput<Response<'bulkReprocessCases'>>((counts) => bulkText('Retrying', counts.reprocessedCount, counts.skippedCount)),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input, { only: ['failed'] });
    return eachPart(selection, ({ queueId, body }) => client.call('bulkReprocessCases', { params: { queue_id: queueId }, body }));
  },
});

import { defineCommand } from '../../cli/kit/command.ts';
import { requiredChoice } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { casePriorities } from '../../interface/case-status.ts';
import type { Response } from '../../interface/types.ts';
import { eachPart } from './each-part.ts';
import { bulkText, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Set the priority of cases',
  description: 'Cases with a higher priority are processed first. Runs that are working on cases continue.',
  arguments: selectionArguments,
  options: { to: requiredChoice(casePriorities, 'The new priority'), ...selectionFlags },
  operations: [...selectionOperations, 'bulkUpdateCasePriority'],
  mutates: true,
  examples: [
    { command: 'aops cases set-priority CASE --to high', text: 'Give a case a high priority' },
    { command: 'aops cases set-priority --to none --queue invoices --all-matching', text: 'Remove the priority of all cases of a queue' },
  ],
  result: returns('bulkUpdateCasePriority'),
  output: textOutput<Response<'bulkUpdateCasePriority'>>((counts) => bulkText('Changed', counts.updatedCount, counts.skippedCount)),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input);
    return eachPart(selection, ({ queueId, body }) =>
      client.call('bulkUpdateCasePriority', { params: { queue_id: queueId }, body: { ...body, priority: input.to } }),
    );
  },
});

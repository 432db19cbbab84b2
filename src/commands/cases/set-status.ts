import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { requiredChoice } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { describeCounts, warnOfRuns } from '../../cli/records/case-counts.ts';
import { caseStatuses } from '../../interface/case-status.ts';
import type { Response } from '../../interface/types.ts';
import { eachPart } from './each-part.ts';
import { bulkText, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

export default defineCommand({
  summary: 'Set the status of cases',
  description:
    '--to pending reopens cases and, after confirmation, interrupts the runs that are working on them. --to completed and --to failed interrupt nothing.',
  arguments: selectionArguments,
  options: { to: requiredChoice(caseStatuses, 'The new status'), ...selectionFlags },
  operations: [...selectionOperations, 'bulkUpdateCaseStatus'],
  mutates: true,
  examples: [
    { command: 'aops cases set-status CASE --to completed', text: 'Mark a case as completed' },
    {
      command: 'aops cases set-status --to pending --queue invoices --all-matching --status in_progress --yes',
      text: 'Restart all cases in progress',
    },
  ],
  result: returns('bulkUpdateCaseStatus'),
  output: textOutput<Response<'bulkUpdateCaseStatus'>>((counts) =>
    bulkText('Changed', counts.updatedCount, counts.skippedCount, counts.interruptedRunIds),
  ),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input);
    const { counts } = selection;
    if (input.to === 'pending' && counts.claimed + counts.needs_input + counts.completed > 0) {
      await confirm(context, `Reopen ${describeCounts(counts)}?${warnOfRuns(counts)}`);
    }
    return eachPart(selection, ({ queueId, body }) =>
      client.call('bulkUpdateCaseStatus', { params: { queue_id: queueId }, body: { ...body, status: input.to } }),
    );
  },
});

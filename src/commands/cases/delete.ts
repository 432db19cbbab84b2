import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { flag } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { describeCounts, warnOfRuns } from '../../cli/records/case-counts.ts';
import { eachPart } from './each-part.ts';
import { bulkText, onlyCaseId, type Part, selectCases, selectionArguments, selectionFlags, selectionOperations } from './selection.ts';

interface DeleteResult {
  deletedCount: number;
  interruptedRunIds: string[];
}

export default defineCommand({
  summary: 'Delete cases and interrupt their runs',
  arguments: selectionArguments,
  options: { ...selectionFlags, ignoreNotFound: flag('Ignore the IDs of cases that do not exist, such as those already deleted') },
  operations: [...selectionOperations, 'deleteCase', 'bulkDeleteCases'],
  mutates: true,
  destructive: true,
  examples: [
    { command: 'aops cases delete CASE --yes', text: 'Delete a case without confirmation' },
    { command: 'aops cases delete --queue invoices --all-matching --status completed', text: 'Delete all completed cases of a queue' },
  ],
  result: returns('bulkDeleteCases'),
  output: textOutput<DeleteResult>(({ deletedCount, interruptedRunIds }) => bulkText('Deleted', deletedCount, 0, interruptedRunIds)),
  async run(context, input) {
    const client = await context.client();
    const selection = await selectCases(context, input, { ignoreNotFound: input.ignoreNotFound });
    if (selection.parts.length === 0) return { deletedCount: 0, interruptedRunIds: [] };
    await confirm(context, `Delete ${describeCounts(selection.counts)}?${warnOfRuns(selection.counts)}`);
    const only = onlyCaseId(selection);
    if (only !== undefined) {
      const { interruptedRunIds } = await client.call('deleteCase', { params: { case_id: only } });
      return { deletedCount: 1, interruptedRunIds };
    }
    const send = ({ queueId, body }: Part) => client.call('bulkDeleteCases', { params: { queue_id: queueId }, body });
    return eachPart(selection, send, () => 'Run the same command again with --ignore-not-found to delete the remaining cases.');
  },
});

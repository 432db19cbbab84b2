import { defineCommand } from '../../../cli/kit/command.ts';
import { listFlags, rowList } from '../../../cli/kit/list.ts';
import { column, idColumn, listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { labelPages, pageSize } from '../../../cli/names/label.ts';
import { queueId } from '../../../cli/names/resolve.ts';
import { queueArgument } from '../../../cli/records/queue.ts';
import type { QueueLabel } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'List the labels of a queue and how many cases have them',
  arguments: { queue: queueArgument },
  options: listFlags,
  operations: ['listQueues', 'listQueueLabels'],
  examples: [{ command: 'aops queues labels list invoices', text: 'List the labels of a queue' }],
  result: returns('listQueueLabels.labels[]'),
  output: listOutput<QueueLabel>({
    columns: [
      idColumn((label) => label.id),
      column('KEY', (label) => label.key, { shrink: true }),
      column('VALUE', (label) => label.value, { shrink: true }),
      column('CASES', (label) => label.case_count, { align: 'right' }),
    ],
    empty: 'There are no labels. Labels are created when they are added to a case.',
  }),
  async run(context, input) {
    const list = rowList(input, await labelPages(context, await queueId(context, input.queue)), pageSize);
    list.isCounted = false;
    return list;
  },
});

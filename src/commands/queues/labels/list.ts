import type { QueueLabel } from '../../../interface/types.ts';
import { defineCommand } from '../../define.ts';
import { listFlags, rowList } from '../../list.ts';
import { column, idColumn, listOutput } from '../../output.ts';
import { queueId } from '../../resolve.ts';
import { returns } from '../../result.ts';
import { queueArgument } from '../record.ts';
import { labelPages, pageSize } from './label.ts';

export default defineCommand({
  summary: 'List the labels of a queue, with how many cases have them',
  arguments: { queue: queueArgument },
  options: listFlags,
  operations: ['listQueues', 'listQueueLabels'],
  examples: [{ command: 'aops queues labels list invoices', text: 'What cases of the queue are labelled with' }],
  result: returns('listQueueLabels.labels[]'),
  output: listOutput<QueueLabel>({
    columns: [
      idColumn((label) => label.id),
      column('KEY', (label) => label.key, { shrink: true }),
      column('VALUE', (label) => label.value, { shrink: true }),
      column('CASES', (label) => label.case_count, { align: 'right' }),
    ],
    empty: 'No labels. They are created when a case gets them.',
  }),
  async run(context, input) {
    const list = rowList(input, await labelPages(context, await queueId(context, input.queue)), pageSize);
    list.counted = false;
    return list;
  },
});

import { given } from '../../base/given.ts';
import type { Case } from '../../interface/types.ts';
import { defineCommand, text } from '../define.ts';
import { listFlags, rowList } from '../list.ts';
import { listOutput } from '../output.ts';
import { queueArgument } from '../queues/record.ts';
import { queueId } from '../resolve.ts';
import { returns } from '../result.ts';
import { filterFlags, filtersOf, sortFlags } from './filters.ts';
import { caseColumns } from './record.ts';

const { label: _, ...filters } = filterFlags;

export default defineCommand({
  summary: 'List the cases of a queue, the newest first',
  description: 'Labels are searched for with `aops cases search`.',
  arguments: { queue: queueArgument },
  options: { ...listFlags, ...filters, search: text('TEXT', 'Cases whose title, data or id contains this'), ...sortFlags },
  operations: ['listQueues', 'listCases'],
  examples: [
    { command: 'aops cases list invoices', text: 'The newest twenty' },
    { command: 'aops cases list invoices --status failed,needs_input', text: 'What wants attention' },
    { command: 'aops cases list invoices --all -o ndjson', text: 'Every case, one JSON object a line' },
  ],
  result: returns('listCases.cases[]'),
  output: listOutput<Case>({ columns: caseColumns, empty: 'No cases. Add some with `aops cases create QUEUE TITLE`.' }),
  async run(context, input) {
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    const { status, priority, ...times } = filtersOf(context, { ...input, label: [] });
    const query = given({
      ...times,
      status: status?.join(','),
      priority: priority?.join(','),
      search: input.search,
      sort_by: input.sortBy,
      sort_order: input.sortOrder,
    });
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listCases', { params, query: { ...query, limit, offset } });
      return { items: page.cases, total: page.total };
    });
  },
});

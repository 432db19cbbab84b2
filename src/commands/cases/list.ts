import { omitUndefined } from '../../base/omit-undefined.ts';
import { openTeamPage, pagedByPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import type { Case } from '../../interface/types.ts';
import { filterFlags, filtersOf, queueView, sortFlags } from './filters.ts';
import { caseColumns } from './record.ts';

export default defineCommand({
  summary: 'List the cases of a queue, newest first',
  arguments: { queue: queueArgument },
  options: {
    ...listFlags,
    ...filterFlags,
    search: text('TEXT', 'Only cases whose title, data, or ID contains this text'),
    ...sortFlags,
    ...webFlag,
  },
  operations: ['listQueues', 'listCases', 'searchCases', 'createPageCode'],
  examples: [
    { command: 'aops cases list invoices', text: 'List the 20 newest cases' },
    { command: 'aops cases list invoices --status failed,needs_input', text: 'List the cases that need attention' },
    { command: 'aops cases list invoices --status failed -o id | aops cases retry -', text: 'Retry the newest failed cases' },
    { command: 'aops cases list invoices --status needs_input --web', text: 'Open the cases that wait for a person in a browser' },
    { command: 'aops cases list invoices --all -o ndjson', text: 'Print every case as one JSON object per line' },
  ],
  result: returns('listCases.cases[]'),
  output: listOutput<Case>({ columns: caseColumns, empty: 'There are no cases. Add one with `aops cases create QUEUE TITLE`.' }),
  async run(context, input) {
    if (input.web) refuseWithWeb(input, pagedByPage);
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    if (input.web) return openTeamPage(context, queueView(context, params.queue_id, input, input.search));
    const filters = filtersOf(context, input);
    const { status, priority, labels, ...times } = filters;
    const searchOptions = omitUndefined({ search: input.search, sort_by: input.sortBy, sort_order: input.sortOrder });
    const query = { ...times, ...searchOptions, ...omitUndefined({ status: status?.join(','), priority: priority?.join(',') }) };
    const list = rowList(input, async (limit, offset) => {
      // The list of the interface does not filter by labels; its search does.
      const page =
        labels === undefined
          ? await client.call('listCases', { params, query: { ...query, limit, offset } })
          : await client.call('searchCases', { params, body: { ...searchOptions, filters, limit, offset } });
      return { items: page.cases, total: page.total };
    });
    list.isFiltered = input.search !== undefined || Object.keys(filters).length > 0;
    return list;
  },
});

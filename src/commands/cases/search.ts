import { omitUndefined } from '../../base/omit-undefined.ts';
import { openTeamPage, pagedByPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import type { Case } from '../../interface/types.ts';
import { filterFlags, filtersOf, queueView, sortFlags } from './filters.ts';
import { labelTexts } from './record.ts';

export default defineCommand({
  summary: 'Search the cases of a queue by text and labels',
  arguments: { queue: queueArgument, text: optionalArgument('Text in the title, data, or ID') },
  options: { ...listFlags, ...filterFlags, ...sortFlags, ...webFlag },
  operations: ['listQueues', 'searchCases', 'createPageCode'],
  examples: [
    { command: "aops cases search invoices 'Acme GmbH'", text: 'Search by text and show the matches' },
    {
      command: 'aops cases search invoices --label vendor=acme --label vendor=zeta --status failed',
      text: 'List failed cases of two vendors',
    },
  ],
  result: returns('searchCases.cases[]'),
  output: listOutput<Case>({
    columns: [
      idColumn((row) => row.id),
      statusColumn((row) => row.display_status),
      column('TITLE', (row) => row.title, { shrink: true }),
      column('LABELS', labelTexts, { shrink: true }),
      column('FOUND', matchText, { shrink: true }),
      timeColumn('UPDATED', (row) => row.updated_at, { minViewWidth: 120 }),
    ],
    empty: 'No cases match.',
  }),
  async run(context, input) {
    if (input.web) refuseWithWeb(input, pagedByPage);
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    if (input.web) return openTeamPage(context, queueView(context, params.queue_id, input, input.text));
    const searchOptions = omitUndefined({ search: input.text, sort_by: input.sortBy, sort_order: input.sortOrder });
    const filters = filtersOf(context, input);
    return rowList(input, async (limit, offset) => {
      const page = await client.call('searchCases', { params, body: { ...searchOptions, filters, limit, offset } });
      return { items: page.cases, total: page.total };
    });
  },
});

/** Characters of the data before a match. */
const contextLength = 12;

function matchText({ search_match_data_snippet: snippet }: Case): string | undefined {
  if (snippet === undefined) return undefined;
  const start = snippet.before.length > contextLength ? `…${snippet.before.slice(-contextLength)}` : snippet.before;
  return `${start}${snippet.match}${snippet.after}`.replace(/\s+/g, ' ');
}

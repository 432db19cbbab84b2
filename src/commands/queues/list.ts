import { omitUndefined } from '../../base/omit-undefined.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Queue } from '../../interface/types.ts';

const notOnPage = {
  limit: 'the page shows all queues',
  offset: 'the page shows all queues',
  automation: 'the page does not filter queues by automation',
} as const;

export default defineCommand({
  summary: 'List the queues of the team',
  options: { ...listFlags, automation: text('ID', 'Only queues of this automation', { check: uuid }), ...webFlag },
  operations: ['listQueues', 'createPageCode'],
  examples: [
    { command: 'aops queues list', text: 'List the first 20 queues' },
    { command: 'aops queues list --all -o id', text: 'Print the IDs of all queues' },
  ],
  result: returns('listQueues.queues[]'),
  output: listOutput<Queue>({
    columns: [
      idColumn((queue) => queue.id),
      column('NAME', (queue) => queue.name, { shrink: true }),
      column('DESCRIPTION', (queue) => queue.description, { shrink: true }),
      timeColumn('CREATED', (queue) => queue.created_at),
    ],
    empty: 'There are no queues. Create one with `aops queues create NAME`.',
  }),
  async run(context, input) {
    if (input.web) {
      refuseWithWeb(input, notOnPage);
      return openTeamPage(context, '/queues');
    }
    const client = await context.client();
    const params = { teamId: context.teamId() };
    const filters = omitUndefined({ automation_id: input.automation });
    return rowList(
      input,
      async (limit, offset) => {
        const page = await client.call('listQueues', { params, query: { ...filters, limit, offset } });
        return { items: page.queues, total: page.total };
      },
      250,
    );
  },
});

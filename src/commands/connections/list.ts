import { omitUndefined } from '../../base/omit-undefined.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { text } from '../../cli/kit/flags.ts';
import { listFlags, rowList } from '../../cli/kit/list.ts';
import { listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionColumns } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';

export default defineCommand({
  summary: 'List the connections of the team',
  options: { ...listFlags, type: text('TYPE', 'Only connections of this type') },
  operations: ['listConnections'],
  examples: [
    { command: 'aops connections list', text: 'List connections and their status' },
    { command: "aops connections list --jq '.data[] | select(.broken_at) | .name'", text: 'Print the names of broken connections' },
  ],
  result: returns('listConnections.integrations[]'),
  output: listOutput<Connection>({
    columns: connectionColumns,
    empty: 'There are no connections. Create one with `aops connections create NAME --url URL`.',
  }),
  async run(context, { type, ...input }) {
    const client = await context.client();
    return rowList(input, async (limit, offset) => {
      const query = { limit, offset, ...omitUndefined({ type }) };
      const page = await client.call('listConnections', { params: { teamId: context.teamId() }, query });
      return { items: page.integrations, total: page.total };
    });
  },
});

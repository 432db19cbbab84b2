import { runStatusFilters } from '../../interface/run-status.ts';
import type { RunListItem } from '../../interface/types.ts';
import { choice, defineCommand, text } from '../define.ts';
import { listFlags, rowList } from '../list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn } from '../output.ts';
import { agentId } from '../resolve.ts';

export default defineCommand({
  summary: 'List runs, the newest first',
  options: {
    ...listFlags,
    agent: text('ID|NAME', 'Runs of this agent', { complete: 'agents' }),
    status: choice(runStatusFilters, 'Runs with this status', { metavar: 'STATUS' }),
    search: text('TEXT', 'Runs whose title, agent or id contains this'),
    since: text('DATE-TIME', 'Runs created at this time or later (ISO 8601)'),
    until: text('DATE-TIME', 'Runs created at this time or before (ISO 8601)'),
    source: text('WORD', 'Runs that were started this way'),
    sortOrder: choice(['asc', 'desc'], 'Oldest or newest first'),
  },
  operations: ['listRuns', 'listAgents'],
  examples: [
    { command: 'aops runs list', text: 'The newest twenty' },
    { command: 'aops runs list --status waiting', text: 'Runs that wait for a person' },
    { command: 'aops runs list --agent invoice-check --all -o ndjson', text: 'Every run of an agent, one JSON object a line' },
  ],
  output: listOutput<RunListItem>({
    columns: [
      idColumn((run) => run.id),
      statusColumn((run) => run.status),
      column('TITLE', (run) => run.title, { shrink: true }),
      column('AGENT', (run) => run.agent_name, { shrink: true }),
      timeColumn('CREATED', (run) => run.created_at),
    ],
    empty: 'No runs. Start one with `aops runs start --agent AGENT`.',
  }),
  async run(context, input) {
    const client = await context.client();
    const { agent, status, search, since, until, source, sortOrder } = input;
    const filters = {
      ...(agent === undefined ? {} : { agent_id: await agentId(context, agent) }),
      ...(sortOrder === undefined ? {} : { sort_by: 'created_at' as const, sort_order: sortOrder }),
      ...Object.fromEntries(Object.entries({ status, search, since, until, source }).filter(([, value]) => value !== undefined)),
    };
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listRuns', { params: { teamId: context.teamId() }, query: { ...filters, limit, offset } });
      return { items: page.data, total: page.total };
    });
  },
});

import type { AgentListItem } from '../../interface/types.ts';
import { defineCommand } from '../define.ts';
import { listFlags, rowList } from '../list.ts';
import { column, idColumn, listOutput, timeColumn } from '../output.ts';
import { returns } from '../result.ts';

export default defineCommand({
  summary: 'List the agents of the team',
  options: listFlags,
  operations: ['listAgents'],
  examples: [
    { command: 'aops agents list', text: 'The first twenty' },
    { command: 'aops agents list --all -o id', text: 'The ids of all, for a script' },
  ],
  result: returns('listAgents.agents[]'),
  output: listOutput<AgentListItem>({
    columns: [
      idColumn((agent) => agent.id),
      column('NAME', (agent) => agent.name, { shrink: true }),
      column('RUNTIME', (agent) => runtimeOf(agent.latest_build?.config)),
      column('REVISION', (agent) => agent.latest_build?.revision_number, { align: 'right' }),
      timeColumn('LAST RUN', (agent) => agent.last_run_at),
    ],
    empty: 'No agents. Create one with `aops agents create --name NAME --procedure FILE`.',
  }),
  async run(context, input) {
    const client = await context.client();
    return rowList(input, async (limit, offset) => {
      const page = await client.call('listAgents', { params: { teamId: context.teamId() }, query: { limit, offset } });
      return { items: page.agents, total: page.total };
    });
  },
});

/** The model or runtime a configuration names, of whatever version it is. */
function runtimeOf(config: Record<string, unknown> | null | undefined): string | undefined {
  const data = config?.data as { model?: string; models?: { agent?: { model?: string } } } | undefined;
  return data?.models?.agent?.model ?? data?.model;
}

/** From what a person writes to ids: agents by name, `@latest` for the newest run. */
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { pagedRows } from '../client/paging.ts';
import type { AgentListItem } from '../interface/types.ts';
import { isUuid } from './checks.ts';
import type { Context } from './context.ts';

/**
 * The id of an agent given by id or name.
 * @throws AopsError `agent_not_found` (exit 3), UsageError when several have the name
 */
export async function agentId(context: Context, idOrName: string): Promise<string> {
  if (isUuid(idOrName)) return idOrName.toLowerCase();
  const client = await context.client();
  const teamId = context.teamId();
  const found: AgentListItem[] = [];
  const names: string[] = [];
  const rows = pagedRows(async (limit, offset) => {
    const page = await client.call('listAgents', { params: { teamId }, query: { limit, offset } });
    return { items: page.agents, total: page.total };
  }, 100);
  for await (const agent of rows) {
    if (agent.name === idOrName) found.push(agent);
    names.push(agent.name);
  }
  if (found.length === 1) return (found[0] as AgentListItem).id;
  if (found.length > 1)
    throw new UsageError(`${found.length} agents are called "${idOrName}".`, `Give the id of one: ${found.map(({ id }) => id).join(', ')}`);
  const similar = nearest(idOrName, names);
  const meant = similar === undefined ? names.filter((name) => name.toLowerCase().includes(idOrName.toLowerCase())) : [similar];
  throw new AopsError(`There is no agent "${idOrName}".`, {
    code: 'agent_not_found',
    exit: exitCodes.notFound,
    hint: meant.length > 0 ? `Did you mean ${meant.slice(0, 3).join(', ')}?` : 'See the agents with `aops agents list`.',
  });
}

/**
 * The id of a run; `@latest` is the newest of the team.
 * @throws AopsError `run_not_found` (exit 3) when there is none
 */
export async function runId(context: Context, idOrLatest: string): Promise<string> {
  if (idOrLatest !== '@latest') {
    if (isUuid(idOrLatest)) return idOrLatest.toLowerCase();
    throw new UsageError(
      `"${idOrLatest}" is not the id of a run.`,
      'Run ids are UUIDs, as `aops runs list` shows them; @latest is the newest run.',
    );
  }
  const client = await context.client();
  const { data } = await client.call('listRuns', { params: { teamId: context.teamId() }, query: { limit: 1 } });
  if (data[0]) return data[0].id;
  throw new AopsError('There is no run yet.', {
    code: 'run_not_found',
    exit: exitCodes.notFound,
    hint: 'Start one with `aops runs start --agent AGENT`.',
  });
}

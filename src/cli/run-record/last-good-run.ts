/** Finds the run with which a failed run is compared. */
import type { Run } from '../../interface/types.ts';
import type { Context } from '../kit/context.ts';

/** Rows to read from a service that does not filter by status. */
const maxRows = 20;

/** The ID of the newest run of the same agent that completed and was created before this one; undefined if there is none. */
export async function lastGoodRun(context: Context, { id, agent_id, created_at }: Run): Promise<string | undefined> {
  if (agent_id === null || created_at === null) return undefined;
  const client = await context.client();
  const { data } = await client.call('listRuns', {
    params: { teamId: context.teamId() },
    query: { agent_id, status: 'completed', until: created_at, limit: maxRows, include_total: 'false' },
  });
  const isEarlier = (time: string | null): boolean => time !== null && Date.parse(time) <= Date.parse(created_at);
  return data.find((row) => row.id !== id && row.agent_id === agent_id && row.status === 'completed' && isEarlier(row.created_at))?.id;
}

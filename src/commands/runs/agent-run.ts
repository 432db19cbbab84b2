/** The agent-scoped reads of a run need the agent's id as well; a run knows it. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runId } from '../../cli/names/resolve-run.ts';

/** @throws AopsError when the run belongs to no agent (any more) */
export async function agentAndRun(context: Context, run: string): Promise<{ agentId: string; runId: string }> {
  const client = await context.client();
  const id = await runId(context, run);
  const { run: found } = await client.call('getRun', { params: { run_id: id } });
  if (found.agent_id !== null) return { agentId: found.agent_id, runId: id };
  throw new AopsError(`Run ${id} belongs to no agent, so the service keeps no such report of it.`, {
    code: 'agent_not_found',
    exit: exitCodes.notFound,
  });
}

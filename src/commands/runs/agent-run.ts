/** Some operations on a run also need the ID of its agent, which is part of the run. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runId } from '../../cli/names/resolve-run.ts';

/** @throws AopsError when the run has no agent, for example because it was deleted */
export async function agentAndRun(context: Context, run: string): Promise<{ agentId: string; runId: string }> {
  const client = await context.client();
  const id = await runId(context, run);
  const { run: details } = await client.call('getRun', { params: { run_id: id } });
  if (details.agent_id !== null) return { agentId: details.agent_id, runId: id };
  throw new AopsError(`Run ${id} has no agent, so this information is not available.`, {
    code: 'agent_not_found',
    exit: exitCodes.notFound,
  });
}

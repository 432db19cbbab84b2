/** Agents that are programs, and checks of agents. */
import type { RevisionConfig } from '../../interface/types.ts';
import { checkAgent } from '../engine/agents/check.ts';
import { ServiceError } from '../errors.ts';
import type { GroupRoutes, RequestContext } from '../http/context.ts';
import { requireAgent, requireBuild, requireTeam } from './shared/lookups.ts';

export const acpRoutes: GroupRoutes<'acp'> = {
  async listAcpAgents({ engine }) {
    const lists = await Promise.all([...engine.runtimes.values()].map(async (runtime) => (await runtime.programs?.()) ?? []));
    return { agents: lists.flat() };
  },

  async checkAgent(context, { params, body }) {
    requireTeam(context, params.teamId);
    const { agent_id: agentId, secrets = {}, turn = false } = body;
    const liveConfig = agentId === undefined ? undefined : await configOf(context, agentId, body.config === undefined);
    const config = body.config ?? liveConfig;
    if (config === undefined) throw new ServiceError(400, 'invalid_request', 'agent_id or config is required.');
    const { signal } = context.lifetime;
    try {
      return await checkAgent(context.engine, { teamId: params.teamId, agentId, config, secrets, turn, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new ServiceError(408, 'check_ended', 'The check was ended before it was complete, because the service stops.');
    }
  },
};

/** The live configuration of an agent. Throws 404 `agent_not_found`, and 409 `agent_has_no_live_revision` if one is needed. */
async function configOf(context: RequestContext, agentId: string, isNeeded: boolean): Promise<RevisionConfig | undefined> {
  const { store } = context.engine;
  const { live_build_id: live } = await requireAgent(context, store, agentId);
  const config = live === null ? null : (await requireBuild(context, store, live)).config;
  if (config !== null) return JSON.parse(config) as RevisionConfig;
  if (isNeeded) throw new ServiceError(409, 'agent_has_no_live_revision', 'The agent has no live revision with a procedure.');
  return undefined;
}

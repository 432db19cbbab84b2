/** Case triggers of agents, and the agents that work on a queue. */

import { queueAgents } from '../engine/dispatch/queue-agents.ts';
import { conflictsOn, createTrigger, deleteTrigger, findTrigger, requireTrigger, updateTrigger } from '../engine/dispatch/triggers.ts';
import type { GroupRoutes } from '../http/context.ts';
import { triggerView } from '../views/triggers.ts';
import { requireAgent, requireQueue } from './shared/lookups.ts';

export const triggerRoutes: GroupRoutes<'triggers'> = {
  async listAgentCaseTriggers(context, { params }) {
    const { store } = context.engine;
    const agent = await requireAgent(context, store, params.agent_id);
    const trigger = await findTrigger(store, agent.id);
    return { case_triggers: trigger === undefined ? [] : [triggerView(trigger)] };
  },

  async createAgentCaseTrigger(context, { params, body }) {
    const { teamId, credentialId } = context;
    return { case_trigger: triggerView(await createTrigger(context.engine, { teamId, credentialId, agentId: params.agent_id }, body)) };
  },

  async previewAgentCaseTriggerConflicts(context, { params, query }) {
    const { store } = context.engine;
    const agent = await requireAgent(context, store, params.agent_id);
    const queue = await requireQueue(context, store, query.case_queue_id);
    const conflicts = await conflictsOn(store, queue.id, agent.id);
    return { has_conflict: conflicts.length > 0, conflicting_agents: conflicts };
  },

  async getAgentCaseTrigger(context, { params }) {
    const { store } = context.engine;
    const agent = await requireAgent(context, store, params.agent_id);
    return { case_trigger: triggerView(await requireTrigger(store, agent.id, params.trigger_id)) };
  },

  async updateAgentCaseTrigger(context, { params, body }) {
    const ids = { teamId: context.teamId, agentId: params.agent_id, triggerId: params.trigger_id };
    return { case_trigger: triggerView(await updateTrigger(context.engine, ids, body)) };
  },

  async deleteAgentCaseTrigger(context, { params }) {
    await deleteTrigger(context.engine, { teamId: context.teamId, agentId: params.agent_id, triggerId: params.trigger_id });
    return { success: true };
  },

  async listQueueAgents(context, { params }) {
    const queue = await requireQueue(context, context.engine.store, params.queue_id);
    return queueAgents(context.engine, queue);
  },
};

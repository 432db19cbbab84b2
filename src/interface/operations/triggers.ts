import type { Operation } from '../operation.ts';

/** Case triggers, which have agents work on queues, and who works on a queue (further groups). */
export const triggerOperations = {
  listAgentCaseTriggers: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/case-triggers',
    idempotent: false,
    success: 200,
    summary: 'List the case triggers of an agent (at most one)',
  },
  createAgentCaseTrigger: {
    method: 'POST',
    path: '/v2/agents/{agent_id}/case-triggers',
    idempotent: true,
    success: 201,
    summary: 'Create a case trigger: an agent works on the cases of a queue',
  },
  previewAgentCaseTriggerConflicts: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/case-triggers/conflict-preview',
    idempotent: false,
    success: 200,
    summary: 'List the agents that already work on a queue',
  },
  getAgentCaseTrigger: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/case-triggers/{trigger_id}',
    idempotent: false,
    success: 200,
    summary: 'Get a case trigger of an agent',
  },
  updateAgentCaseTrigger: {
    method: 'PATCH',
    path: '/v2/agents/{agent_id}/case-triggers/{trigger_id}',
    idempotent: true,
    success: 200,
    summary: 'Enable, disable, or move a case trigger',
  },
  deleteAgentCaseTrigger: {
    method: 'DELETE',
    path: '/v2/agents/{agent_id}/case-triggers/{trigger_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete a case trigger',
  },
  listQueueAgents: {
    method: 'GET',
    path: '/v2/queues/{queue_id}/agents',
    idempotent: false,
    success: 200,
    summary: 'List the agents that add cases to a queue, and those that work on them',
  },
} as const satisfies Record<string, Operation>;

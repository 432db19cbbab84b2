import type { Operation } from '../operation.ts';

/** Agents and their revisions (further groups). */
export const agentOperations = {
  listAgents: { method: 'GET', path: '/v2/teams/{teamId}/agents', idempotent: false, success: 200, summary: 'List the agents of a team' },
  createAgent: {
    method: 'POST',
    path: '/v2/teams/{teamId}/agents',
    idempotent: true,
    success: 201,
    summary: 'Create an agent, optionally with its first revision',
  },
  getAgent: { method: 'GET', path: '/v2/agents/{agent_id}', idempotent: false, success: 200, summary: 'Get an agent' },
  updateAgent: {
    method: 'PATCH',
    path: '/v2/agents/{agent_id}',
    idempotent: true,
    success: 200,
    summary: 'Rename an agent or change its settings',
  },
  deleteAgent: {
    method: 'DELETE',
    path: '/v2/agents/{agent_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete an agent and interrupt its runs',
  },
  listAgentRevisions: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/revisions',
    idempotent: false,
    success: 200,
    summary: 'List the revisions of an agent',
  },
  createRevision: {
    method: 'POST',
    path: '/v2/agents/{agent_id}/revisions',
    idempotent: true,
    success: 201,
    summary: 'Create a draft revision',
  },
  getRevision: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/revisions/{build_id}',
    idempotent: false,
    success: 200,
    summary: 'Get a revision',
  },
  updateRevision: {
    method: 'PATCH',
    path: '/v2/revisions/{build_id}',
    idempotent: true,
    success: 200,
    summary: 'Change the procedure or the name of a revision',
  },
  promoteRevision: {
    method: 'POST',
    path: '/v2/revisions/{build_id}/promote',
    idempotent: true,
    success: 200,
    summary: 'Make a revision the live one',
  },
} as const satisfies Record<string, Operation>;

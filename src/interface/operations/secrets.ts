import type { Operation } from '../operation.ts';

/** Secrets of agents, which their processes get as environment variables. Extensions. */
export const secretOperations = {
  listAgentSecrets: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/secrets',
    idempotent: false,
    success: 200,
    summary: 'List the names of the secrets of an agent',
    extension: true,
  },
  setAgentSecret: {
    method: 'POST',
    path: '/v2/agents/{agent_id}/secrets',
    idempotent: true,
    success: 200,
    summary: 'Store a secret of an agent in place of any earlier one with its name; its value cannot be read again',
    extension: true,
  },
  deleteAgentSecret: {
    method: 'DELETE',
    path: '/v2/agents/{agent_id}/secrets/{secret_name}',
    idempotent: true,
    success: 200,
    summary: 'Delete a secret of an agent',
    extension: true,
  },
} as const satisfies Record<string, Operation>;

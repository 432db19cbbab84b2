import type { Operation } from '../operation.ts';

/** Agents that are programs, and checks of agents. Extensions. */
export const acpOperations = {
  listAcpAgents: {
    method: 'GET',
    path: '/v2/acp/agents',
    idempotent: false,
    success: 200,
    summary: 'List the agents of the bundled registry of the Agent Client Protocol, with what is installed',
    extension: true,
  },
} as const satisfies Record<string, Operation>;

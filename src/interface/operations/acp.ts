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
  checkAgent: {
    method: 'POST',
    path: '/v2/teams/{teamId}/agents/check',
    // It changes nothing, so a repetition is another check.
    idempotent: false,
    success: 200,
    summary: 'Check whether an agent or a configuration works on this service: start its program for a moment, without a run',
    extension: true,
  },
} as const satisfies Record<string, Operation>;

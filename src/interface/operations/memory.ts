import type { Operation } from '../operation.ts';

/** Memory files of agents (further groups). */
export const memoryOperations = {
  listAgentMemoryFiles: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/memory/files',
    idempotent: false,
    success: 200,
    summary: 'List the memory files of an agent',
  },
  getAgentMemoryFile: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/memory/files/{path}',
    rest: true,
    idempotent: false,
    success: 200,
    summary: 'Get a memory file of an agent',
  },
} as const satisfies Record<string, Operation>;

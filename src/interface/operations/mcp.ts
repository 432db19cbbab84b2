import type { Operation } from '../operation.ts';

/** The Model Context Protocol: tools for agents of others (interface part 4.1). */
export const mcpOperations = {
  callMcp: {
    method: 'POST',
    path: '/v2/mcp',
    idempotent: true,
    success: 200,
    summary: 'Send a JSON-RPC message of the Model Context Protocol',
  },
  getMcp: {
    method: 'GET',
    path: '/v2/mcp',
    idempotent: false,
    success: 200,
    summary: 'Not supported; clients of the Model Context Protocol use POST',
  },
} as const satisfies Record<string, Operation>;

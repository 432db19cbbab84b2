import type { OperationSchemas } from '../operation.ts';
import type { mcpOperations } from '../operations/mcp.ts';
import { FreeForm } from './common.ts';

export const mcpSchemas = {
  /** JSON-RPC; the protocol defines its content. */
  callMcp: { body: FreeForm, optionalBody: true, response: FreeForm },
  getMcp: { response: FreeForm },
} as const satisfies Record<keyof typeof mcpOperations, OperationSchemas>;

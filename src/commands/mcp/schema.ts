/** The result shape of tools. */
import { returns } from '../../cli/kit/result.ts';

/** A tool in the format of the protocol. */
export const listedTool = returns({
  name: 'string',
  title: 'string?',
  description: 'string?',
  inputSchema: 'object',
  annotations: { readOnlyHint: 'boolean?', destructiveHint: 'boolean?', idempotentHint: 'boolean?', openWorldHint: 'boolean?' },
});

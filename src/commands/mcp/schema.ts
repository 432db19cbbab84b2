/** Tools as results. */
import { returns } from '../../cli/kit/result.ts';

/** A tool as the protocol lists it. */
export const listedTool = returns({
  name: 'string',
  title: 'string?',
  description: 'string?',
  inputSchema: 'object',
  annotations: { readOnlyHint: 'boolean?', destructiveHint: 'boolean?', idempotentHint: 'boolean?', openWorldHint: 'boolean?' },
});

/** The Model Context Protocol. Its implementation is loaded with the first message, because most services never get one. */
import type { mcpOperations } from '../../interface/operations/mcp.ts';
import { ServiceError } from '../errors.ts';
import type { RawHandler } from '../http/context.ts';

export const mcpRoutes: { readonly [Id in keyof typeof mcpOperations]: RawHandler } = {
  async callMcp(context, request) {
    const { answerMessage } = await import('../mcp/endpoint.ts');
    return answerMessage(context, request);
  },

  async getMcp() {
    throw new ServiceError(405, 'method_not_allowed', 'MCP messages are sent with POST; this service has no stream to subscribe to.', {
      headers: { Allow: 'POST' },
    });
  },
};

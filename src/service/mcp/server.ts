/** A protocol server for one request: lists the tools, and calls them on behalf of the caller of that request. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { version } from '../../base/version.ts';
import { isPermitted } from '../http/access.ts';
import type { RawRequest, RequestContext } from '../http/context.ts';
import type { ToolCall } from './tool.ts';
import { type CallResult, callTool, listedTool } from './tool-call.ts';
import { tools } from './tools/index.ts';

const instructions =
  'Operates AI agents and their runs. list_agents finds an agent, start_run starts a run of it, and wait_for_run follows the run. A run can wait for a person: ask the user, then call respond_to_human_request.';

/**
 * @param onError called with failures of the service itself, whose response must not look like a result of a tool
 */
export function serverFor(context: RequestContext, request: RawRequest, onError: (error: unknown) => void): Server {
  const server = new Server({ name: 'aops', title: 'Agent operations', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler('tools/list', () => ({ tools: tools.filter((tool) => isPermitted(context, tool.operation)).map(listedTool) }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallResult> => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}"; tools/list returns the existing tools.`);
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const call: ToolCall = {
      call: request.call,
      clock: context.engine.clock,
      signal: request.signal,
      async report(message) {
        // A single response is stored under a key, so a client that sends a key does not get a stream.
        if (progressToken === undefined || request.keyed) return;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } });
      },
    };
    try {
      return await callTool(tool, call, params.arguments ?? {});
    } catch (error) {
      onError(error);
      return internalFailure;
    }
  });
  return server;
}

/** The result for a client that reads a stream, whose status has already been sent. */
const internalFailure: CallResult = {
  content: [{ type: 'text', text: 'internal_error: The service failed to do this; its log contains the reason.' }],
  structuredContent: { error: 'internal_error' },
  isError: true,
};

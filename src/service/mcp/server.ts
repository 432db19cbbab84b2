/** A protocol server for one request: it lists the tools, and calls them as the caller of that request. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { version } from '../../base/version.ts';
import { isPermitted } from '../http/access.ts';
import type { RawRequest, RequestContext } from '../http/context.ts';
import type { ToolCall } from './tool.ts';
import { type CallResult, callTool, listedTool } from './tool-call.ts';
import { tools } from './tools/index.ts';

const instructions =
  'Operates AI agents and their runs. list_agents finds an agent, start_run starts a run of it, wait_for_run follows it. A run may wait for a person: ask the user, then call respond_to_human_request.';

/**
 * @param failed told of a failure of the service itself; its answer must not look like one of a tool
 */
export function serverFor(context: RequestContext, request: RawRequest, failed: (error: unknown) => void): Server {
  const server = new Server({ name: 'aops', title: 'Agent operations', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler('tools/list', () => ({ tools: tools.filter((tool) => isPermitted(context, tool.operation)).map(listedTool) }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallResult> => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}"; tools/list shows those there are.`);
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const call: ToolCall = {
      call: request.call,
      clock: context.engine.clock,
      signal: request.signal,
      async report(message) {
        // What is kept under a key is one answer; whoever sends a key gets no stream.
        if (progressToken === undefined || request.keyed) return;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } });
      },
    };
    try {
      return await callTool(tool, call, params.arguments ?? {});
    } catch (error) {
      failed(error);
      return internalFailure;
    }
  });
  return server;
}

/** For a stream, where the status is out already. */
const internalFailure: CallResult = {
  content: [{ type: 'text', text: 'internal_error: The service failed to do this; its log says why.' }],
  structuredContent: { error: 'internal_error' },
  isError: true,
};

/** A protocol server for one request, which lists tools and calls them. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { version } from '../../base/version.ts';
import type { AnyTool } from './tool.ts';
import { type Advice, type CallResult, callTool, listedTool } from './tool-call.ts';

/** Reports progress to a client that requested it. */
export type Notify = (message: string) => Promise<void>;

export interface ToolServerOptions<Call, Tool extends AnyTool<Call>> {
  /** What a model should know about the tools. */
  instructions: string;
  tools: readonly Tool[];
  /** Whether the caller sees a tool. */
  isListed: (tool: Tool) => boolean;
  advice: Advice;
  /** What a tool works with in one call. */
  callWith: (notify: Notify) => Call;
  /** Called with failures of the service itself, whose response must not look like a result of a tool. */
  onError: (error: unknown) => void;
}

export function toolServer<Call, Tool extends AnyTool<Call>>(options: ToolServerOptions<Call, Tool>): Server {
  const { instructions, tools, isListed, advice, callWith, onError } = options;
  const server = new Server({ name: 'aops', title: 'Agent operations', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler('tools/list', () => ({ tools: tools.filter(isListed).map(listedTool) }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallResult> => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}"; tools/list returns the existing tools.`);
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const notify = async (message: string): Promise<void> => {
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: ++progress, message } });
    };
    try {
      return await callTool(tool, callWith(notify), params.arguments ?? {}, advice);
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

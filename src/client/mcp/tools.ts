/** Lists and calls the tools of a service. */
import { isObject } from '../../base/values.ts';
import type { McpSession } from './session.ts';

export interface ListedTool {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema of an object. */
  inputSchema: Record<string, unknown>;
  annotations?: { title?: string; readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
}

export interface ContentBlock {
  type: string;
  text?: string;
  mimeType?: string;
  data?: string;
}

export interface ToolResult {
  content: ContentBlock[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** Guards against a service that always names another page. */
const maxPages = 100;

/** All tools, in the order of the service. */
export async function listTools(session: McpSession): Promise<ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const result = await session.request({ method: 'tools/list', ...params, mutates: false });
    if (Array.isArray(result.tools)) tools.push(...result.tools.filter(isTool));
    if (typeof result.nextCursor !== 'string' || result.nextCursor === cursor) break;
    cursor = result.nextCursor;
  }
  return tools;
}

export const isReadOnly = (tool: ListedTool): boolean => tool.annotations?.readOnlyHint === true;

/** Whether the service declares that the tool's changes cannot be undone. A missing hint is not taken as a warning. */
export const isDestructive = (tool: ListedTool): boolean => !isReadOnly(tool) && tool.annotations?.destructiveHint === true;

/** Calls a tool. A tool that only reads carries no idempotency key. */
export async function callTool(session: McpSession, tool: ListedTool, args: Record<string, unknown>): Promise<ToolResult> {
  const params = { name: tool.name, arguments: args };
  const result = await session.request({ method: 'tools/call', params, mutates: !isReadOnly(tool) });
  return {
    content: Array.isArray(result.content)
      ? (result.content as unknown[]).filter(isObject).map((block) => block as unknown as ContentBlock)
      : [],
    ...(isObject(result.structuredContent) ? { structuredContent: result.structuredContent } : {}),
    ...(result.isError === true ? { isError: true } : {}),
  };
}

const isTool = (value: unknown): value is ListedTool => isObject(value) && typeof value.name === 'string' && isObject(value.inputSchema);

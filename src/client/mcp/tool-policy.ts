/** Which tools a bridge passes on. Calls of all others are refused, not only left out of the list. Pure. */
import { isObject, type JsonObject } from '../../base/values.ts';
import type { RpcMessage } from '../json-rpc.ts';
import { isRead } from './read-only-tools.ts';
import { isReadOnly, type ListedTool } from './tools.ts';

/** The tool with which a caller answers the human request of a run. */
export const answerTool = 'respond_to_human_request';

/** Methods that change nothing but what the session reports. */
const sessionMethods = /^(logging\/setLevel|resources\/(un)?subscribe|subscriptions\/listen)$/;

export interface ToolPolicy {
  /** Names of tools; undefined permits all. */
  readonly permitted: ReadonlySet<string> | undefined;
  /** Only requests that change nothing. */
  readonly readOnly: boolean;
}

export const permitEverything: ToolPolicy = { permitted: undefined, readOnly: false };

/** Whether a pattern of `--allow` matches a name; `*` stands for any characters. */
export const matchesPattern = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split('*').map(escapePattern).join('.*')}$`).test(name);

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/**
 * The policy for the tools that a service declares. A tool that does not declare itself read-only may change something.
 * @param allow names and patterns; empty allows all tools
 * @returns the patterns that match no tool, or that only match tools which --read-only excludes, together with the policy
 */
export function toolPolicy(
  tools: readonly ListedTool[],
  { readOnly, allow }: { readOnly: boolean; allow: readonly string[] },
): { policy: ToolPolicy; unknown: string[]; excluded: string[] } {
  const matching = (pattern: string): ListedTool[] => tools.filter(({ name }) => matchesPattern(pattern, name));
  const isPermitted = (tool: ListedTool): boolean =>
    (!readOnly || isReadOnly(tool)) && (allow.length === 0 || allow.some((pattern) => matchesPattern(pattern, tool.name)));
  return {
    policy: { permitted: new Set(tools.filter(isPermitted).map(({ name }) => name)), readOnly },
    unknown: allow.filter((pattern) => matching(pattern).length === 0),
    excluded: allow.filter((pattern) => matching(pattern).length > 0 && !matching(pattern).some(isPermitted)),
  };
}

/** Why a request is not passed on, as a sentence; undefined if it is. */
export function policyProblem({ permitted, readOnly }: ToolPolicy, { method, params }: RpcMessage): string | undefined {
  if (method === 'tools/call') {
    const { name } = params ?? {};
    if (permitted === undefined || (typeof name === 'string' && permitted.has(name))) return undefined;
    return `The tool ${JSON.stringify(name)} is not available: this server was started with ${readOnly ? '--read-only' : '--allow'}.`;
  }
  if (!readOnly || isRead(method) || sessionMethods.test(method)) return undefined;
  return `${method} is not available: this server was started with --read-only.`;
}

/** A result of `tools/list` with only these tools. */
export function listedTools(result: JsonObject, isListed: (name: string) => boolean): JsonObject {
  if (!Array.isArray(result.tools)) return result;
  const tools = (result.tools as unknown[]).filter((tool) => isObject(tool) && typeof tool.name === 'string' && isListed(tool.name));
  return { ...result, tools };
}

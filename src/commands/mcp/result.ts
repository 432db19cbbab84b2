/** What a tool returned, as the result of a command: its data, its words to people, or the failure it tells of. */
import { AopsError, type ExitCode, exitCodes } from '../../base/errors.ts';
import { exitOfStatus } from '../../client/errors.ts';
import type { ContentBlock, ToolResult } from '../../client/mcp/tools.ts';

const words = new WeakMap<object, string>();

/** What programs read: the structured content, or all content where there is none. */
export function resultData({ structuredContent, content }: ToolResult): Record<string, unknown> {
  const data = structuredContent ?? { content };
  const text = textOf(content).trim();
  // Some tools repeat their data as text, for clients that read nothing else.
  if (structuredContent !== undefined && text !== '' && !/^[[{]/.test(text)) words.set(data, text);
  return data;
}

/** What the tool said beside its data. */
export const wordsOf = (data: object): string | undefined => words.get(data);

const textOf = (content: readonly ContentBlock[]): string =>
  content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');

/** The failure that a tool tells of: the words are those of the interface where the tool gives them. */
export function refusedCall(tool: string, result: ToolResult): AopsError {
  const { error, message, advice, status } = (result.structuredContent ?? {}) as Record<string, unknown>;
  const text = textOf(result.content);
  return new AopsError(typeof message === 'string' ? message : text || `${tool} failed without a word.`, {
    code: typeof error === 'string' ? error : 'tool_failed',
    exit: exitOf(status),
    ...(typeof advice === 'string' ? { hint: advice } : {}),
  });
}

const exitOf = (status: unknown): ExitCode => (typeof status === 'number' && status >= 400 ? exitOfStatus(status) : exitCodes.failure);

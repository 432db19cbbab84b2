/** Turns the response of a tool into the result of a command: its data, its text for people, or its error. */
import { AopsError, type ExitCode, exitCodes } from '../../base/errors.ts';
import { exitOfStatus } from '../../client/errors.ts';
import type { ContentBlock, ToolResult } from '../../client/mcp/tools.ts';

const words = new WeakMap<object, string>();

/** The data for programs: the structured content, or all content if there is none. */
export function resultData({ structuredContent, content }: ToolResult): Record<string, unknown> {
  const data = structuredContent ?? { content };
  const text = textOf(content).trim();
  // Some tools repeat their data as text, for clients without structured content.
  if (structuredContent !== undefined && text !== '' && !/^[[{]/.test(text)) words.set(data, text);
  return data;
}

/** The text of the tool that is not part of its data. */
export const wordsOf = (data: object): string | undefined => words.get(data);

const textOf = (content: readonly ContentBlock[]): string =>
  content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');

/** The error that a tool reported, with the code and message of the interface if the tool provides them. */
export function refusedCall(tool: string, result: ToolResult): AopsError {
  const { error, message, advice, status } = (result.structuredContent ?? {}) as Record<string, unknown>;
  const text = textOf(result.content);
  return new AopsError(typeof message === 'string' ? message : text || `${tool} failed without a message.`, {
    code: typeof error === 'string' ? error : 'tool_failed',
    exit: exitOf(status),
    ...(typeof advice === 'string' ? { hint: advice } : {}),
  });
}

const exitOf = (status: unknown): ExitCode => (typeof status === 'number' && status >= 400 ? exitOfStatus(status) : exitCodes.failure);

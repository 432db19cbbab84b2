/** Patterns for the messages of a run: a text that a message contains, in which `*` stands for any characters. */
import type { RunMessage } from '../interface/types.ts';
import { matchesPattern } from './answers.ts';

/**
 * Whether a message of the run contains one of the patterns. Messages from people never match: a run often begins with a message that
 * names what it should report in the end.
 */
export function matchesMessage(patterns: readonly string[], message: RunMessage): boolean {
  if (message.role === 'user') return false;
  const texts = textsOf(message);
  return patterns.some((pattern) => texts.some((text) => matchesPattern(`*${pattern}*`, text)));
}

/** Its text, the name and the arguments of its tool call, and the result or the error of a tool. */
function textsOf({ text_content, tool_call, tool_result }: RunMessage): string[] {
  return [text_content, tool_call?.name, tool_call?.arguments, tool_result?.result, tool_result?.error].flatMap((value) =>
    value == null ? [] : [typeof value === 'string' ? value : JSON.stringify(value)],
  );
}

/** The conversation of a run as text. */
import type { Queries } from '../../store/database/database.ts';
import type { MessageRow } from '../../store/database/schema.ts';
import { latestMessageRows } from '../../store/runs/messages.ts';

/** The latest messages that are considered, and the characters of all of them together. */
const maxMessages = 500;
const maxCharacters = 100_000;
/** The characters of one call or result. */
const maxPart = 4_000;

/** What people and the agent said, and the tools that were used; the latest part if it is long. */
export async function transcriptOf(db: Queries, runId: string): Promise<string> {
  const { rows } = await latestMessageRows(db, runId, maxMessages);
  const lines: string[] = [];
  let length = 0;
  for (const row of rows.toReversed()) {
    const line = lineOf(row);
    if (line === undefined) continue;
    length += line.length;
    if (length > maxCharacters) return ['[Earlier messages are left out.]', ...lines.toReversed()].join('\n');
    lines.push(line);
  }
  return lines.toReversed().join('\n');
}

function lineOf({ type, role, text_content: text, tool_call: call, tool_result: result }: MessageRow): string | undefined {
  if (call !== null) return `Tool call: ${call.slice(0, maxPart)}`;
  if (result !== null) return `Tool result: ${result.slice(0, maxPart)}`;
  if (text === null || type === 'thought' || type === 'notice') return undefined;
  return `${role === 'user' ? 'User' : 'Assistant'}: ${text}`;
}

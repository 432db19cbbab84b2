/** What a run did before it asked: the last lines of its transcript, for the person who is about to answer. */
import type { Client } from '../../client/client.ts';
import type { Terminal } from '../../terminal/streams.ts';
import { truncate, widthFor } from '../../terminal/width.ts';
import type { Context } from '../kit/context.ts';
import { Transcript } from '../records/transcript.ts';

/** How many messages are read. A tool call and its result are two messages and one line. */
const maxMessages = 12;

/** The lines to show on a screen with this many rows, of which the prompt needs most. Pure. */
export function maxLines(rows: number | undefined): number {
  if (rows === undefined || rows >= 40) return 8;
  return rows >= 24 ? 5 : 2;
}

/** The lines, each as wide as the terminal at most; none if the messages cannot be read, because the answer does not depend on them. */
export async function recentSteps({ terminal, signal }: Context, client: Pick<Client, 'call'>, runId: string): Promise<string[]> {
  try {
    return await readSteps(terminal, client, runId);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

async function readSteps(terminal: Terminal, client: Pick<Client, 'call'>, runId: string): Promise<string[]> {
  const read = (limit: number, offset: number) => client.call('listRunMessages', { params: { run_id: runId }, query: { limit, offset } });
  // The list begins with the oldest messages, and only a response contains how many there are.
  const first = await read(maxMessages, 0);
  const { messages } = first.total <= maxMessages ? first : await read(maxMessages, first.total - maxMessages);
  const { columns, rows } = terminal.err;
  const transcript = new Transcript(await terminal.err.styles(), columns - 2);
  const lines = [...messages.flatMap((message) => transcript.lines(message)), ...transcript.unfinishedCalls()];
  const widthOf = await widthFor(lines);
  return lines
    .filter((line) => line.trim() !== '')
    .slice(-maxLines(rows))
    .map((line) => `  ${truncate(line, columns - 2, widthOf)}`);
}

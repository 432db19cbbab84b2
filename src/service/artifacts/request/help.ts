/** A summary of what the generator understands. docs/artifacts.md has the complete list. */
import { type Grammar, notUnderstood, understoodBy } from '../../words/help.ts';
import { RefusalError } from '../../words/outcome.ts';
import type { Statement } from '../../words/statements.ts';

const grammarLines: readonly string[] = [
  '`runs of the last 7 days by status`, `failed runs of agent "x"`, `open human requests`, `cases of queue "x" by priority`, `webhook deliveries by event`, `agents`, `usage`',
  '`table of ...`, `list of ...`, `bar chart of ... by ...`, `line chart of ... by day`, `number of ...`',
  '`by` status, agent, source, type, event, priority, queue, hour, day, week, month',
  '`of the last N hours|days|weeks|months`, `today`, `yesterday`, `this week|month|year`, `since 2026-07-01`',
  '`title "..."`, `text "..."`',
  '`remove ...`, `move ... up|down|to the top|to the end`, `make it a table`, `as a bar chart`, `by agent`, `start over`',
];

const grammar: Grammar = { reader: 'The generator of the local service', phrases: grammarLines };

/** The refusal of a message that does not request anything. */
export const nothingRequested = (): RefusalError => new RefusalError(`The message does not request anything. ${understoodBy(grammar)}`);

/** The refusal of a statement that is not understood. @param unknownWords its unknown words, if all the other words are understood */
export function notUnderstoodError(statement: Statement, unknownWords: readonly string[] = []): RefusalError {
  const words = unknownWords.slice(0, 5).map((word) => `"${word}"`);
  const hint = `The ${words.length === 1 ? 'word' : 'words'} ${words.join(', ')} cannot be used here.`;
  return new RefusalError(notUnderstood(grammar, [statement], words.length === 0 ? undefined : hint));
}

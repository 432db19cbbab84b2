/** What the builder understands. It is shown when a request is not understood, and a test compares it with docs/revisions.md. */
import { nearest } from '../../../../base/nearest.ts';
import { type Grammar, notUnderstood } from '../../../words/help.ts';
import type { Statement } from '../../../words/statements.ts';

export const grammarLines: readonly string[] = [
  'say "TEXT", ask "QUESTION" with options A, B, approve "TITLE", run "COMMAND", write "TEXT" to FILE, wait 5m, call TOOL, open "https://…", fail with "TEXT", complete the case "NOTE", fail the case with "REASON", postpone the case for 2h, add a case "TITLE" to the queue NAME - each with: before step 3, after the approval, at the start, at the end; as ID; if "CONDITION"; with timeout 5m; if denied continue',
  'add after step 2: followed by steps as YAML, on the lines below or as {say: Hello}',
  'remove step 4, remove steps 2 to 4, remove the approval, remove all questions',
  'move step 4 before step 2, swap step 2 and step 3',
  'replace "A" with "B", replace "A" with "B" in step 2, replace step 3 with say "TEXT"',
  'set timeout of step 2 to 5m (any key of the step), remove the timeout of step 2, only do step 3 if "CONDITION", always do step 3',
  'add option "C" to the question, remove option "A" from the question',
  'rename step 2 to ID, set the description to "TEXT"',
  'run it every day at 9:00',
];

/** The words that a statement begins with. */
const verbs = [
  'add',
  'say',
  'ask',
  'approve',
  'run',
  'write',
  'wait',
  'call',
  'open',
  'fail',
  'complete',
  'postpone',
  'remove',
  'move',
  'swap',
  'replace',
  'set',
  'rename',
];

const grammar: Grammar = { reader: 'The builder of the script runtime', phrases: grammarLines };

/** The error for statements of which none is understood. */
export function nothingUnderstood(statements: readonly Statement[]): string {
  const [word = ''] = (statements[0]?.words ?? '').split(/\s/);
  const verb = nearest(word, verbs);
  const isTypo = verb !== undefined && !word.startsWith(verb);
  return notUnderstood(grammar, statements, isTypo ? `Did you mean "${verb}"?` : undefined);
}

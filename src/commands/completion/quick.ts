/** Completes a line without the rest of the program, which would take longer to start than everything else. */
import type { Entries } from '../../cli/kit/tree.ts';
import { candidates, candidateText, lineOf } from './candidates.ts';
import { commandWords } from './command-words.ts';

/**
 * What `aops __complete` prints for these arguments; undefined if something has to be looked up, which is done by the command (see
 * complete.ts).
 * @param args the arguments after `__complete`
 */
export async function quickCompletion(args: readonly string[], tree: () => Promise<Entries>): Promise<string | undefined> {
  // The completion scripts always pass it; anything else can be flags.
  if (args[0] !== '--') return undefined;
  const line = lineOf(args.slice(1));
  const known = candidates(await commandWords(tree), line);
  return known.lookUp === undefined ? candidateText(known, line) : undefined;
}

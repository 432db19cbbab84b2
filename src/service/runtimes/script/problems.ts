/** Problems of a procedure: where they are, how they are reported, and what was probably meant. */
import { ServiceError } from '../../errors.ts';

export interface Position {
  /** Both counted from 1. */
  line: number;
  column: number;
}

export interface Problem extends Position {
  message: string;
}

/** How many problems the message itself lists; the details have all. */
const listed = 10;

/** The error for the problems found, in the order of the text. Its first line is the first problem. */
export function invalidProcedure(problems: readonly Problem[]): ServiceError {
  const details = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ message, line, column }) => ({ message, line, column }));
  const lines = details.slice(0, listed).map(({ message, line, column }) => `line ${line}, column ${column}: ${message}`);
  if (details.length > listed) lines.push(`and ${details.length - listed} more`);
  return new ServiceError(400, 'invalid_procedure', lines.join('\n'), { details });
}

/** "`a`, `b` or `c`". */
export function oneOf(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

/** What to say about an unknown word: the known one that is nearly the same, or all of them. */
export function suggestion(word: string, known: readonly string[]): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  if (nearest && nearest.edits <= Math.max(1, Math.floor(nearest.candidate.length / 3))) return `did you mean \`${nearest.candidate}\`?`;
  return known.length === 0 ? 'none is known here' : `allowed: ${oneOf(known)}`;
}

/** Edits from one word to another, where swapping two neighbours is one edit. Long words are not compared. */
function distance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let edits = Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, cell(i - 2, j - 2) + 1);
      row.push(edits);
    }
  }
  return cell(a.length, b.length);
}

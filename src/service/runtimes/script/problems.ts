/** Problems of a procedure: where they are, how they are reported, and what was probably meant. */
import { nearest } from '../../../base/nearest.ts';
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
export const oneOf = (words: readonly string[]): string => anyOf(words.map((word) => `\`${word}\``));

/** "a text, a list or a mapping". */
export const anyOf = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

/** What to say about an unknown word: the known one that is nearly the same, or all of them. */
export function suggestion(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  if (meant !== undefined) return `did you mean \`${meant}\`?`;
  return known.length === 0 ? 'none is known here' : `allowed: ${oneOf(known)}`;
}

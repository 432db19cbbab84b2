/** Problems of a procedure: their positions, how they are reported, and suggestions. */

import { nearest } from '../../../base/nearest.ts';
import { wordList } from '../../../base/word-list.ts';
import { ServiceError } from '../../errors.ts';

export interface Position {
  /** Both counted from 1. */
  line: number;
  column: number;
}

export interface Problem extends Position {
  message: string;
}

/** The number of problems that the message lists; the details contain all. */
const maxListed = 10;

/** The error for problems, in the order of the text. Its first line is the first problem. */
export function invalidProcedure(problems: readonly Problem[]): ServiceError {
  const details = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ message, line, column }) => ({ message, line, column }));
  const lines = details.slice(0, maxListed).map(({ message, line, column }) => `line ${line}, column ${column}: ${message}`);
  if (details.length > maxListed) lines.push(`and ${details.length - maxListed} more`);
  return new ServiceError(400, 'invalid_procedure', lines.join('\n'), { details });
}

/** "`a`, `b`, or `c`". */
export const oneOf = (words: readonly string[]): string =>
  wordList(
    words.map((word) => `\`${word}\``),
    'or',
  );

/** A hint about an unknown word: the similar word that is allowed, or all allowed words. */
export function suggestion(word: string, allowedWords: readonly string[]): string {
  const nearestWord = nearest(word, allowedWords);
  if (nearestWord !== undefined) return `did you mean \`${nearestWord}\`?`;
  return allowedWords.length === 0 ? 'there is nothing to refer to here' : `allowed: ${oneOf(allowedWords)}`;
}

/** Requests as statements: the parts of a request that each ask for one thing. */
import { maskQuotes, type Quote, unmask, withoutMarks } from './quotes.ts';

export interface Statement {
  /** As it was written, on one line. */
  readonly text: string;
  /** In the case in which it was written, with a mark (quotes.ts) for every quoted text. */
  readonly original: string;
  /** `original` in lower case. */
  readonly words: string;
  /** The texts that the marks represent. */
  readonly quotes: readonly Quote[];
}

const boundary = '\\s*;\\s*|[.!?](?=\\s|$)|,?\\s+(?:and\\s+)?then\\s+';
const bullet = /^\s*(?:[-*•]|\d+[.)])\s+/;
const politeOpening =
  /^(?:please|also|and|then|now|first|finally|next|lastly|kindly|i want you to|i want|i need|i would like(?: you to| to see)?|can you|could you|you should|we should|let's|let us)\b[,:]?\s*/i;
const politeEnding = /[\s,:]*(?:,?\s*please)?[\s,.:]*$/i;
/** A part that does not request anything. */
const empty = /^(?:please|thanks|thank you|hi|hello|hey|make the following changes|changes)?[\s,.!:]*$/i;

/**
 * What ends a statement: a semicolon, the end of a sentence, or "then".
 * @param more source of a regular expression for what else ends one
 */
export const boundaryOr = (more?: string): RegExp => new RegExp(more === undefined ? boundary : `${boundary}|${more}`, 'i');

/** A request with one kind of line break and without the characters of marks. */
export const normalize = (request: string): string => withoutMarks(request).replaceAll(/\r\n?/g, '\n');

/** The statements of a line, which may begin with a bullet. Adds the quoted texts of the line to `quotes`. */
export const statementsOfLine = (line: string, quotes: Quote[], boundary: RegExp): Statement[] =>
  maskedStatements(maskQuotes(line, quotes), quotes, boundary);

/** The same for a line in which marks represent the quoted texts. */
export const maskedStatements = (line: string, quotes: readonly Quote[], boundary: RegExp): Statement[] =>
  line
    .replace(bullet, '')
    .split(boundary)
    .map(withoutPoliteness)
    .filter((part) => !empty.test(part))
    .map((original) => ({
      text: unmask(original, quotes, true).replaceAll(/\s*\n\s*/g, ' '),
      original,
      words: original.toLowerCase(),
      quotes,
    }));

function withoutPoliteness(part: string): string {
  let text = part.trim();
  for (let next = text.replace(politeOpening, ''); next !== text; next = next.replace(politeOpening, '')) text = next;
  return text.replace(politeEnding, '');
}

/** Words of a statement, which are in lower case, in the case in which they were written. */
export function restoreCase({ words, original }: Statement, lower: string): string {
  const index = words.search(new RegExp(`(?<!\\w)${lower.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!\\w)`));
  // Lower-casing makes some letters longer, and then positions no longer match.
  return index < 0 || words.length !== original.length ? lower : original.slice(index, index + lower.length);
}

/** The text that words of a statement, in their original case, represent. */
export const textOf = ({ quotes }: Statement, original: string): string => unmask(original, quotes).trim();

/** The text that words of a statement, in lower case, represent. */
export const originalText = (statement: Statement, lower: string): string => textOf(statement, restoreCase(statement, lower));

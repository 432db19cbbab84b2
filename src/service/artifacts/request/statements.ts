/** A request in words, cut into statements. Quoted texts are marks in them (words/quotes.ts). */
import { maskQuotes, type Quote, unmask } from '../../words/quotes.ts';

export interface Statement {
  /** As it was written, on one line. */
  readonly text: string;
  /** Every quoted text is a mark. */
  readonly spelled: string;
  /** In lower case. */
  readonly words: string;
  readonly quotes: readonly Quote[];
}

/** The most statements of a request. */
export const mostStatements = 60;

const boundary = /\s*;\s*|[.!?](?=\s|$)|,?\s+(?:and\s+)?then\s+/i;
const joint = /\s*,\s*(?:and\s+|plus\s+)?|\s+(?:and|plus|as well as)\s+/i;
const polite =
  /^(?:please|also|and|then|now|first|finally|next|kindly|i want you to|i want|i need|i would like(?: you to| to see)?|can you|could you|let's|let us)\b[,:]?\s*/i;
const empty = /^(?:please|thanks|thank you|hi|hello|hey)?[\s,.!:]*$/i;

/** The statements of a request, in their order. */
export function readStatements(request: string): Statement[] {
  const quotes: Quote[] = [];
  return maskQuotes(request.replaceAll(/[\uE000\uE001]/g, '').replaceAll(/\r\n?/g, '\n'), quotes)
    .split('\n')
    .flatMap((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').split(boundary))
    .map(cleaned)
    .filter((part) => !empty.test(part))
    .map((part) => statement(part, quotes));
}

/** What a statement says one after the other: `runs by status, usage and agents`. */
export function splitStatement({ spelled, quotes }: Statement): Statement[] {
  return spelled
    .split(joint)
    .map(cleaned)
    .filter((part) => part !== '')
    .map((part) => statement(part, quotes));
}

/** The text that words of the statement stand for. */
export const textOf = ({ quotes }: Statement, spelled: string): string => unmask(spelled, quotes).trim();

const statement = (spelled: string, quotes: readonly Quote[]): Statement => ({
  text: unmask(spelled, quotes, true).replaceAll(/\s*\n\s*/g, ' '),
  spelled,
  words: spelled.toLowerCase(),
  quotes,
});

function cleaned(part: string): string {
  let text = part.trim().replaceAll(/\s+/g, ' ');
  for (let next = text.replace(polite, ''); next !== text; next = next.replace(polite, '')) text = next;
  return text.replace(/[\s,:]*(?:,?\s*please)?[\s,:]*$/i, '');
}

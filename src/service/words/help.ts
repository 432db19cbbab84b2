/** The text that is shown when a request is not understood. */
import { shorten } from '../../base/values.ts';
import type { Statement } from './statements.ts';

/** A grammar of phrases, as far as people have to know it. */
export interface Grammar {
  /** What reads the requests: the subject of "... understands:". */
  readonly reader: string;
  /** Examples of what can be written, one line each. */
  readonly phrases: readonly string[];
}

/** `The builder understands:` and the phrases, as a list. */
export const understoodBy = ({ reader, phrases }: Grammar): string =>
  `${reader} understands:\n${phrases.map((phrase) => `- ${phrase}`).join('\n')}`;

/** Quotes the statements and lists what would have been understood. @param hint a sentence about what was probably meant */
export function notUnderstood(grammar: Grammar, statements: readonly Pick<Statement, 'text'>[], hint?: string): string {
  const quotedTexts = statements.slice(0, 3).map(({ text }) => `"${shorten(text, 80)}"`);
  const reason = quotedTexts.length === 0 ? 'The request is empty.' : `Not understood: ${quotedTexts.join(', ')}.`;
  return [reason, ...(hint === undefined ? [] : [hint]), understoodBy(grammar)].join(' ');
}

/** Texts in quotes within a request in words: each is taken out and leaves a mark, so that no word in it is read as part of the request. */

/** A text in quotes, or YAML in backquotes or braces. */
export interface Quote {
  readonly text: string;
  readonly code: boolean;
  /** With its quotes. */
  readonly written: string;
}

export const mark = (index: number): string => `\uE000${index}\uE001`;
/** Source of a regular expression that matches a mark, with its number as a group. */
export const markPattern = '\uE000(\\d+)\uE001';
const marks = new RegExp(markPattern, 'g');

const quotePairs: Record<string, string> = {
  '"': '"',
  '\u201c': '\u201d',
  '\u201e': '\u201c',
  '\u00ab': '\u00bb',
  '`': '`',
  "'": "'",
  '{': '}',
};

/** The text that words with marks stand for. */
export const unmask = (words: string, quotes: readonly Quote[], written = false): string =>
  words.replace(marks, (_, index: string) => quotes[Number(index)]?.[written ? 'written' : 'text'] ?? '');

/**
 * Takes quoted texts out of a line, or of several: what stands in `"`, or quotes that open and close differently, may go on in the next
 * one. An apostrophe within a word is no quote.
 */
export function maskQuotes(line: string, quotes: Quote[]): string {
  let result = '';
  for (let at = 0; at < line.length; at += 1) {
    const open = line[at] as string;
    const close = quotePairs[open];
    const inWord = open === "'" && /\w$/.test(result);
    const end = close === undefined || inWord ? -1 : closing(line, at, open, close);
    if (close === undefined || end < 0) {
      result += open;
      continue;
    }
    const inner = line.slice(at + 1, end);
    const text = open === '{' ? line.slice(at, end + 1) : open === '"' ? unescaped(inner) : inner;
    result += mark(quotes.push({ text, code: open === '{' || open === '`', written: line.slice(at, end + 1) }) - 1);
    at = end;
  }
  return result;
}

function closing(line: string, from: number, open: string, close: string): number {
  let depth = 0;
  for (let at = from + 1; at < line.length; at += 1) {
    // One without a fellow is an apostrophe, or a slip, and takes nothing of other lines with it.
    if (line[at] === '\n' && /['`{]/.test(open)) return -1;
    if (line[at] === '\\' && open === '"') at += 1;
    else if (line[at] === close && depth === 0 && !(open === "'" && /\w/.test(line[at + 1] ?? ''))) return at;
    else if (open === '{' && line[at] === '{') depth += 1;
    else if (open === '{' && line[at] === '}') depth -= 1;
  }
  return -1;
}

/** `\"`, `\\` and `\n`, as in YAML and JSON. */
const unescaped = (text: string): string => text.replace(/\\(["\\n])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));

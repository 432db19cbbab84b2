/** Quoted texts within a request: each is replaced by a mark, so that no word inside it is read as part of the request. */

/** A text in quotes, or YAML in backquotes or braces. */
export interface Quote {
  readonly text: string;
  readonly code: boolean;
  /** Including its quotes. */
  readonly source: string;
}

export const mark = (index: number): string => `\uE000${index}\uE001`;
/** Source of a regular expression that matches a mark, with its number as a group. */
export const markPattern = '\uE000(\\d+)\uE001';
const marks = new RegExp(markPattern, 'g');
const singleMark = new RegExp(`^${markPattern}$`);

const quotePairs: Record<string, string> = {
  '"': '"',
  '\u201c': '\u201d',
  '\u201e': '\u201c',
  '\u00ab': '\u00bb',
  '`': '`',
  "'": "'",
  '{': '}',
};

/** Removes the characters that marks consist of: only `maskQuotes` may write them. */
export const withoutMarks = (text: string): string => text.replaceAll(/[\uE000\uE001]/g, '');

/** Replaces marks with the texts they represent. @param includeQuotes whether to include the quotes */
export const unmask = (words: string, quotes: readonly Quote[], includeQuotes = false): string =>
  words.replace(marks, (_, index: string) => quotes[Number(index)]?.[includeQuotes ? 'source' : 'text'] ?? '');

/** The quote that a single mark represents; undefined for any other text. */
export function quoteAt(words: string, quotes: readonly Quote[]): Quote | undefined {
  const index = singleMark.exec(words)?.[1];
  return index === undefined ? undefined : quotes[Number(index)];
}

/**
 * Replaces the quoted texts of one or more lines with marks and appends them to `quotes`. A text in `"`, or in quotes that open and
 * close differently, may span lines. An apostrophe within a word is not a quote.
 * @param opening the characters that open a quoted text; all of them by default
 */
export function maskQuotes(line: string, quotes: Quote[], opening: readonly string[] = Object.keys(quotePairs)): string {
  let result = '';
  for (let index = 0; index < line.length; index += 1) {
    const open = line[index] as string;
    const close = opening.includes(open) ? quotePairs[open] : undefined;
    const inWord = open === "'" && /\w$/.test(result);
    const end = close === undefined || inWord ? -1 : closingIndex(line, index, open, close);
    if (close === undefined || end < 0) {
      result += open;
      continue;
    }
    const content = line.slice(index + 1, end);
    const text = open === '{' ? line.slice(index, end + 1) : open === '"' ? unescapeText(content) : content;
    result += mark(quotes.push({ text, code: open === '{' || open === '`', source: line.slice(index, end + 1) }) - 1);
    index = end;
  }
  return result;
}

function closingIndex(line: string, from: number, open: string, close: string): number {
  let depth = 0;
  for (let index = from + 1; index < line.length; index += 1) {
    // A quote that is not closed on its line is an apostrophe or a typing error, and must not swallow other lines.
    if (line[index] === '\n' && /['`{]/.test(open)) return -1;
    if (line[index] === '\\' && open === '"') index += 1;
    else if (line[index] === close && depth === 0 && !(open === "'" && /\w/.test(line[index + 1] ?? ''))) return index;
    else if (open === '{' && line[index] === '{') depth += 1;
    else if (open === '{' && line[index] === '}') depth -= 1;
  }
  return -1;
}

/** Resolves `\"`, `\\` and `\n`, as in YAML and JSON. */
const unescapeText = (text: string): string => text.replace(/\\(["\\n])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));

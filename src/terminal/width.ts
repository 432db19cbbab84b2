/** The width of text in terminal columns, and truncating text to a width. */

/** The columns that a text without line breaks takes. */
export type WidthOf = (text: string) => number;

const oneColumnEach = /^[\x20-\x7e\u2026]*$/;

/** A width function that is correct for all of `texts`; string-width is loaded only when one of them needs it. */
export async function widthFor(texts: Iterable<string>): Promise<WidthOf> {
  for (const text of texts) {
    if (oneColumnEach.test(text)) continue;
    const { default: stringWidth } = await import('string-width');
    const sum = (text: string): number => {
      let columns = 0;
      for (const part of parts(text)) columns += stringWidth(part);
      return columns;
    };
    return (text) => (oneColumnEach.test(text) ? text.length : sum(text));
  }
  return (text) => text.length;
}

let segmenter: Intl.Segmenter | undefined;

/** The user-perceived characters of a text. Creating the segmenter takes longer than most commands spend on text. */
function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** Number of UTF-16 units to segment at a time: segmenting takes time proportional to the square of their number. */
const partLength = 1_000;

/** The text in pieces of whole characters that are fast to segment. */
function* parts(text: string): Generator<string, void, undefined> {
  let rest = '';
  for (let start = 0, end: number; start < text.length; start = end) {
    end = start + partLength;
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    rest += text.slice(start, end);
    if (end >= text.length) break;
    // The last character may continue in the next piece.
    const lastPosition = segments(rest).containing(rest.length - 1)?.index ?? 0;
    if (lastPosition > 0) yield rest.slice(0, lastPosition);
    rest = rest.slice(lastPosition);
  }
  if (rest !== '') yield rest;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** The text in at most `width` columns, with its end replaced by `…` when it is too long. Never splits a character. */
export function truncate(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return '';
  let result = '';
  let usedColumns = 0;
  for (const { segment } of segments(text)) {
    usedColumns += widthOf(segment);
    if (usedColumns > width - 1) break;
    result += segment;
  }
  return `${result}…`;
}

/** The text padded with spaces to `width` columns. */
export function pad(text: string, width: number, widthOf: WidthOf, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/**
 * A line wrapped between words into lines of at most `width` columns, each with the indentation of the first. A longer word,
 * such as an ID or an address, stays whole, so that it can be copied; only scripts written without spaces are broken anywhere.
 */
export function wrapWords(line: string, width: number, widthOf: WidthOf): string[] {
  if (widthOf(line) <= width) return [line];
  const indent = line.slice(0, line.search(/[^ ]|$/));
  const available = width - indent.length;
  const lines: string[] = [];
  let current = '';
  // Each word is measured only once: texts may be very long.
  let usedColumns = 0;
  for (const word of line.slice(indent.length).split(' ')) {
    // The pieces of a word are as long as possible, so that each of them begins a line.
    for (const [piece, columns] of breakable(word, available, widthOf)) {
      if (current !== '' && usedColumns + 1 + columns > available) {
        lines.push(indent + current);
        current = '';
      }
      usedColumns = current === '' ? columns : usedColumns + 1 + columns;
      current = current === '' ? piece : `${current} ${piece}`;
    }
  }
  return [...lines, indent + current];
}

/** The pieces of a word that is too wide and consists of double-width characters, such as CJK; any other word whole. Each with its width. */
function breakable(word: string, width: number, widthOf: WidthOf): [piece: string, columns: number][] {
  const wordWidth = widthOf(word);
  if (wordWidth <= width || wordWidth <= word.length) return [[word, wordWidth]];
  const pieces: [string, number][] = [];
  let piece = '';
  let usedColumns = 0;
  // Measuring a character takes longer than anything else here, and most occur many times.
  const widths = new Map<string, number>();
  for (const part of parts(word)) {
    for (const { segment } of segments(part)) {
      const segmentWidth = widths.get(segment) ?? widthOf(segment);
      widths.set(segment, segmentWidth);
      if (piece !== '' && usedColumns + segmentWidth > width) {
        pieces.push([piece, usedColumns]);
        piece = '';
        usedColumns = 0;
      }
      piece += segment;
      usedColumns += segmentWidth;
    }
  }
  return [...pieces, [piece, usedColumns]];
}

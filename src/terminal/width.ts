/** The width of text in terminal columns, and truncating text to a width. */

/** The columns that a text without line breaks takes. */
export type WidthOf = (text: string) => number;

const oneColumnEach = /^[\x20-\x7e\u2026]*$/;

/** A width function that is correct for all of `texts`; string-width is loaded only when one of them needs it. */
export async function widthFor(texts: Iterable<string>): Promise<WidthOf> {
  for (const text of texts) {
    if (oneColumnEach.test(text)) continue;
    const { default: stringWidth } = await import('string-width');
    const sum = (other: string): number => {
      let columns = 0;
      for (const part of parts(other)) columns += stringWidth(part);
      return columns;
    };
    return (other) => (oneColumnEach.test(other) ? other.length : sum(other));
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
    const last = [...segments(rest)].at(-1)?.index ?? 0;
    if (last > 0) yield rest.slice(0, last);
    rest = rest.slice(last);
  }
  if (rest !== '') yield rest;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** The text in at most `width` columns, with its end replaced by `…` when it is too long. Never splits a character. */
export function truncate(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return '';
  let result = '';
  let used = 0;
  for (const { segment } of segments(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
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
  const [indent = ''] = /^ */.exec(line) ?? [];
  const available = width - indent.length;
  const lines: string[] = [];
  let current = '';
  // Each word is measured only once: texts may be very long.
  let used = 0;
  for (const word of line.slice(indent.length).split(' ')) {
    for (const [index, piece] of breakable(word, available, widthOf).entries()) {
      const wide = widthOf(piece);
      const gap = index === 0 ? ' ' : '';
      if (current !== '' && used + gap.length + wide > available) {
        lines.push(indent + current);
        current = '';
      }
      used = current === '' ? wide : used + gap.length + wide;
      current = current === '' ? piece : current + gap + piece;
    }
  }
  return [...lines, indent + current];
}

/** The pieces of a word that is too wide and consists of double-width characters, such as CJK; any other word unchanged. */
function breakable(word: string, width: number, widthOf: WidthOf): string[] {
  const whole = widthOf(word);
  if (whole <= width || whole <= word.length) return [word];
  const pieces: string[] = [];
  let piece = '';
  let used = 0;
  for (const part of parts(word)) {
    for (const { segment } of segments(part)) {
      const wide = widthOf(segment);
      if (piece !== '' && used + wide > width) {
        pieces.push(piece);
        piece = '';
        used = 0;
      }
      piece += segment;
      used += wide;
    }
  }
  return [...pieces, piece];
}

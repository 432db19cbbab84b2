/** Columns that text takes on a terminal, and cutting text to a number of them. */

/** Columns of a text without line breaks. */
export type WidthOf = (text: string) => number;

const oneColumnEach = /^[\x20-\x7e\u2026]*$/;

/** A width function that is right for all of `texts`; string-width is loaded only when one of them needs it. */
export async function widthFor(texts: Iterable<string>): Promise<WidthOf> {
  for (const text of texts) {
    if (oneColumnEach.test(text)) continue;
    const { default: stringWidth } = await import('string-width');
    return (other) => (oneColumnEach.test(other) ? other.length : stringWidth(other));
  }
  return (text) => text.length;
}

/** The text in at most `width` columns, its end replaced by `…` when it is too long. Never splits a character. */
export function truncate(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return '';
  let result = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    result += segment;
  }
  return `${result}…`;
}

/** The text filled with spaces to `width` columns. */
export function pad(text: string, width: number, widthOf: WidthOf, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/**
 * A line broken between words into lines of at most `width` columns, each with the indentation of the first. A word that is
 * longer, such as an id or an address, stays whole, so that it can be copied; only writing without spaces is broken anywhere.
 */
export function wrapWords(line: string, width: number, widthOf: WidthOf): string[] {
  if (widthOf(line) <= width) return [line];
  const [indent = ''] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = '';
  for (const word of line
    .slice(indent.length)
    .split(' ')
    .flatMap((one) => breakable(one, width - indent.length, widthOf))) {
    const longer = current === '' ? indent + word : `${current} ${word}`;
    if (current !== '' && widthOf(longer) > width) {
      lines.push(current);
      current = indent + word;
    } else {
      current = longer;
    }
  }
  return [...lines, current];
}

/** Pieces of a word that is too wide and of characters two columns wide, as CJK is written; any other word as it is. */
function breakable(word: string, width: number, widthOf: WidthOf): string[] {
  if (widthOf(word) <= width || widthOf(word) <= word.length) return [word];
  const pieces: string[] = [];
  let piece = '';
  for (const { segment } of new Intl.Segmenter().segment(word)) {
    if (piece !== '' && widthOf(piece + segment) > width) {
      pieces.push(piece);
      piece = '';
    }
    piece += segment;
  }
  return [...pieces, piece];
}

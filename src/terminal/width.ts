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

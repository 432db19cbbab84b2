/** One resource for people: aligned `Key: value` lines, or `key<TAB>value` off a terminal. */
import { blockText, type CellStyle, cellText, paint, type View, withLink } from './cell.ts';
import { plainStyles } from './style.ts';
import { pad, widthFor, wrapWords } from './width.ts';

export interface Field {
  label: string;
  /** Left out of the record when undefined; null and '' show as `-` on a terminal. */
  value: unknown;
  style?: CellStyle | undefined;
  /** A moment: relative on a terminal, ISO elsewhere. */
  time?: boolean | undefined;
  /** Where the value leads, for terminals with hyperlinks. */
  link?: unknown;
}

/** Values are not broken into pieces smaller than this, in columns: on the narrowest terminals it breaks the lines itself. */
const narrowest = 12;

/**
 * The record as text that ends in a line feed. Further lines of a value are indented under its first, and long
 * ones broken between words.
 * @param atLeast columns before the values, where several records share them
 */
export async function renderRecord(fields: readonly Field[], view: View, atLeast = 0): Promise<string> {
  const shown = fields.filter((field) => field.value !== undefined);
  if (!view.tty) return shown.map((field) => `${field.label}\t${cellText(field.value, view, field.time)}\n`).join('');

  // A column without a header has nothing to be called.
  const labels = shown.map((field) => (field.label === '' ? '' : `${field.label}:`));
  const widthOf = await widthFor(labels);
  const width = Math.max(atLeast, Math.max(0, ...labels.map(widthOf)) + 1);
  const { dim } = view.styles ?? plainStyles;
  const texts = shown.map((field) => blockText(field.value, view, field.time) || '-');
  const widthOfText = await widthFor(texts.flatMap((text) => text.split('\n')));
  const room = Math.max(narrowest, view.width - width);
  return shown
    .map((field, index) => {
      const lines = (texts[index] as string)
        .split('\n')
        .flatMap((line) => wrapWords(line, room, widthOfText))
        .map((line) => withLink(paint(line, field.style, view), field.link, view));
      const label = labels[index] as string;
      return `${dim(label)}${' '.repeat(width - widthOf(label))}${lines.join(`\n${pad('', width, widthOf)}`)}\n`;
    })
    .join('');
}

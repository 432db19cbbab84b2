/** One resource for people: aligned `Key: value` lines, or `key<TAB>value` off a terminal. */
import { blockText, type CellStyle, cellText, paint, type View, withLink } from './cell.ts';
import { plainStyles } from './style.ts';
import { pad, widthFor, wrapWords } from './width.ts';

export interface Field {
  label: string;
  /** Left out of the record when undefined; null and '' show as `-` on a terminal. */
  value: unknown;
  style?: CellStyle | undefined;
  /** Whether the value is a time: relative on a terminal, ISO 8601 elsewhere. */
  time?: boolean | undefined;
  /** URL for terminals with hyperlinks. */
  link?: unknown;
}

/** Narrowest column for values; narrower terminals wrap the lines themselves. */
const minWidth = 12;

/**
 * The record as text that ends in a line feed. Further lines of a value are indented below its first line, and long
 * lines are wrapped between words.
 * @param minLabelWidth minimum width of the labels in columns, to align several records
 */
export async function renderRecord(fields: readonly Field[], view: View, minLabelWidth = 0): Promise<string> {
  const presentFields = fields.filter((field) => field.value !== undefined);
  if (!view.tty) return presentFields.map((field) => `${field.label}\t${cellText(field.value, view, field.time)}\n`).join('');

  // A column without a header has no label.
  const labels = presentFields.map((field) => (field.label === '' ? '' : `${field.label}:`));
  const widthOf = await widthFor(labels);
  const width = Math.max(minLabelWidth, Math.max(0, ...labels.map(widthOf)) + 1);
  const { dim } = view.styles ?? plainStyles;
  const texts = presentFields.map((field) => blockText(field.value, view, field.time) || '-');
  const widthOfText = await widthFor(texts.flatMap((text) => text.split('\n')));
  const available = Math.max(minWidth, view.width - width);
  return presentFields
    .map((field, index) => {
      const lines = (texts[index] as string)
        .split('\n')
        .flatMap((line) => wrapWords(line, available, widthOfText))
        .map((line) => withLink(paint(line, field.style, view), field.link, view));
      const label = labels[index] as string;
      return `${dim(label)}${' '.repeat(width - widthOf(label))}${lines.join(`\n${pad('', width, widthOf)}`)}\n`;
    })
    .join('');
}

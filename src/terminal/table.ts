/**
 * Lists for people: borderless columns fitted to the terminal, blocks of `Header: value` lines if even shrunk columns do not
 * fit, and tab-separated rows without a header off a terminal. Widths are measured in columns, so CJK and emoji line up.
 */
import { type CellStyle, cellText, paint, type View, withLink } from './cell.ts';
import { type Field, renderRecord } from './record.ts';
import { plainStyles } from './style.ts';
import { truncate, type WidthOf, widthFor } from './width.ts';

export interface Column<Row> {
  header: string;
  value: (row: Row) => unknown;
  /** `right` for numbers. */
  align?: 'left' | 'right';
  /** Minimum width when shrunk, in columns; 8 by default. */
  min?: number;
  /** Terminals narrower than this do not show the column. */
  minViewWidth?: number;
  /** Whether the text may be truncated with … when the terminal is too narrow. IDs should not be. */
  shrink?: boolean;
  style?: CellStyle;
  /** Whether the value is a time: relative on a terminal, ISO 8601 elsewhere. */
  time?: boolean;
  /** Formats the value for the view, such as a size. */
  show?: (value: unknown, view: View) => unknown;
  /** URL for terminals with hyperlinks. */
  link?: (row: Row) => unknown;
}

const gap = 2;
const defaultMinimum = 8;

/** The table as text that ends in a line feed; empty for no rows. Loads string-width only when a cell needs it. */
export async function renderTable<Row>(rows: readonly Row[], allColumns: readonly Column<Row>[], view: View): Promise<string> {
  if (rows.length === 0) return '';
  const columns = view.tty ? allColumns.filter(({ minViewWidth = 0 }) => minViewWidth <= view.width) : allColumns;
  const cells = rows.map((row) => columns.map((column) => cellText(cellValue(column, row, view), view, column.time)));
  if (!view.tty) return cells.map((row) => `${row.join('\t')}\n`).join('');

  const widthOf = await widthFor([...columns.map((column) => column.header), ...cells.flat()]);
  const naturalWidths = columns.map((column, index) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[index] as string)), widthOf(column.header)),
  );
  const widths = fitWidths(naturalWidths, columns, view.width, widthOf);
  if (!widths) return renderBlocks(rows, allColumns, view);

  const { bold } = view.styles ?? plainStyles;
  const truncateRow = (row: readonly string[]): string[] => row.map((text, index) => truncate(text, widths[index] as number, widthOf));
  const header = truncateRow(columns.map((column) => column.header));
  const body = cells.map(truncateRow);
  const rowLines = body.flatMap((row, rowIndex) =>
    row.map((text, index) => {
      const column = columns[index] as Column<Row>;
      return withLink(paint(text, column.style, view), column.link?.(rows[rowIndex] as Row), view);
    }),
  );
  const styledLines = [...header.map(bold), ...rowLines];
  return layout([header, ...body], columns, widthOf, styledLines);
}

const cellValue = <Row>({ value, show }: Column<Row>, row: Row, view: View): unknown =>
  show === undefined ? value(row) : show(value(row), view);

/** Widths that fit, or undefined. The widest shrinkable column shrinks first. */
function fitWidths<Row>(
  naturalWidths: number[],
  columns: readonly Column<Row>[],
  available: number,
  widthOf: WidthOf,
): number[] | undefined {
  const minima = columns.map((column, index) =>
    column.shrink
      ? Math.min(naturalWidths[index] as number, Math.max(column.min ?? defaultMinimum, widthOf(column.header)))
      : (naturalWidths[index] as number),
  );
  const widths = naturalWidths.map((width, index) => Math.max(minima[index] as number, Math.min(width, available)));
  let excess = widths.reduce((sum, width) => sum + width, gap * (columns.length - 1)) - available;
  while (excess > 0) {
    const shrinkable = widths.map((width, index) => (width > (minima[index] as number) ? width : 0));
    const maxWidth = Math.max(...shrinkable);
    if (maxWidth === 0) return undefined;
    const index = shrinkable.indexOf(maxWidth);
    // Shrinks to the next widest in one step, so that a long text does not take one iteration per column; equal widths take turns.
    const target = Math.max(minima[index] as number, ...shrinkable.filter((width) => width < maxWidth));
    const equals = shrinkable.filter((width) => width === maxWidth).length;
    const step = equals > 1 ? 1 : Math.min(excess, maxWidth - target);
    widths[index] = maxWidth - step;
    excess -= step;
  }
  return widths;
}

/**
 * Lays out the rows with cli-table3, without borders. It measures neither newer emoji nor our markup correctly, so it gets a
 * placeholder of the right width for each text, and the texts replace the placeholders afterwards.
 * @param styledLines the styled texts of all cells, row by row
 */
async function layout<Row>(
  rows: readonly string[][],
  columns: readonly Column<Row>[],
  widthOf: WidthOf,
  styledLines: readonly string[],
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    chars: { ...noBorders, middle: ' '.repeat(gap) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: columns.map(({ align = 'left' }) => align),
  });
  for (const row of rows) table.push(row.map((text) => placeholder.repeat(widthOf(text))));
  const cells = rows.flat();
  const texts = styledLines.filter((_, index) => widthOf(cells[index] as string) > 0);
  const lines = table.toString().split('\n');
  return lines.map((line) => `${line.trimEnd().replace(/#+/g, () => texts.shift() as string)}\n`).join('');
}

const placeholder = '#';
const noBorders = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((name) => [name, '']),
);

async function renderBlocks<Row>(rows: readonly Row[], columns: readonly Column<Row>[], view: View): Promise<string> {
  const field = (column: Column<Row>, row: Row): Field => {
    const value = cellValue(column, row, view);
    // A column without a header contains a mark, which most rows do not have.
    const mark = column.header === '' && value === '' ? undefined : value;
    return { label: column.header, value: mark, style: column.style, time: column.time, link: column.link?.(row) };
  };
  const blocks = rows.map((row) =>
    renderRecord(
      columns.map((column) => field(column, row)),
      view,
    ),
  );
  return (await Promise.all(blocks)).join('\n');
}

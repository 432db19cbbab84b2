/** How a command's result is shown to people. The other formats only need the data. */
import type { CellStyle, View } from '../../terminal/cell.ts';
import type { Field } from '../../terminal/record.ts';
import { formatSize } from '../../terminal/size.ts';
import type { Column } from '../../terminal/table.ts';
import type { Count, RowList } from './list.ts';

// biome-ignore lint/suspicious/noExplicitAny: outputs of commands whose types do not matter here
type Any = any;

/** An output for results of a type. */
export interface Output<Result> {
  /** Type only: ties the output of a command to what its `run` returns. */
  readonly accepts?: (result: Result) => void;
}

type DrawRows<Row> = (rows: readonly Row[], view: View) => Promise<string>;

interface ListOutput<Row> extends Output<RowList<Row> | Count> {
  readonly kind: 'list';
  readonly columns: readonly Column<Row>[];
  /** Other columns, or a drawing, for lists whose `form` names it. */
  readonly forms?: Readonly<Record<string, readonly Column<Row>[] | DrawRows<Row>>>;
  /** The message on stderr when there are no rows. */
  readonly empty: string;
}
interface RecordOutput<Result> extends Output<Result> {
  readonly kind: 'record';
  readonly fields: (result: Result, view: View) => Record<string, unknown>;
  /** For commands that return a list if they were called for several things. */
  readonly list?: ListOutput<Any>;
}
interface TextOutput<Result> extends Output<Result> {
  readonly kind: 'text';
  readonly text: (result: Result) => string;
  /** As for records. */
  readonly list?: ListOutput<Any>;
}
/** A text of several parts, such as a record with a diff below it; long ones go through the pager. */
interface DocumentOutput<Result> extends Output<Result> {
  readonly kind: 'document';
  readonly document: (result: Result, view: View) => Promise<string>;
}
/** The service's JSON unchanged, except for a list that the command creates itself. */
interface RawOutput extends Output<Any> {
  readonly kind: 'raw';
  readonly list: ListOutput<Any>;
}

export type AnyOutput = ListOutput<Any> | RecordOutput<Any> | TextOutput<Any> | DocumentOutput<Any> | RawOutput;

export const listOutput = <Row>(output: Omit<ListOutput<Row>, 'kind'>): ListOutput<Row> => ({ kind: 'list', ...output });
export const recordOutput = <Result>(fields: (result: Result, view: View) => Record<string, unknown>): RecordOutput<Result> => ({
  kind: 'record',
  fields,
});
export const textOutput = <Result>(text: (result: Result) => string): TextOutput<Result> => ({ kind: 'text', text });
/** The output of a command that returns one result for one thing, and a list for several. */
export const oneOrSeveralOutput = <Result, Row>(
  output: RecordOutput<Result> | TextOutput<Result>,
  list: ListOutput<Row>,
): (RecordOutput<Result> | TextOutput<Result>) & Output<Result | RowList<Row>> => ({ ...output, list }) as never;
export const documentOutput = <Result>(document: (result: Result, view: View) => Promise<string>): DocumentOutput<Result> => ({
  kind: 'document',
  document,
});
export const rawOutput = (list: ListOutput<Any>): RawOutput => ({ kind: 'raw', list });

type ColumnSettings<Row> = Pick<Column<Row>, 'align' | 'shrink' | 'min' | 'style' | 'link' | 'minViewWidth'>;

export const column = <Row>(header: string, value: (row: Row) => unknown, settings: ColumnSettings<Row> = {}): Column<Row> => ({
  header,
  value,
  ...settings,
});
export const idColumn = <Row>(value: (row: Row) => unknown, settings: Pick<Column<Row>, 'minViewWidth'> = {}): Column<Row> => ({
  header: 'ID',
  value,
  ...settings,
});
export const statusColumn = <Row>(value: (row: Row) => unknown): Column<Row> => ({ header: 'STATUS', value, style: 'status' });
export const timeColumn = <Row>(
  header: string,
  value: (row: Row) => unknown,
  settings: Pick<Column<Row>, 'minViewWidth'> = {},
): Column<Row> => ({
  header,
  value,
  time: true,
  ...settings,
});

/** Minimum terminal width of columns that lists show only in wide windows. */
export const wideView = 100;
/** The same for IDs of rows that have a shorter name: a UUID takes the space of a title. */
export const wideViewForIds = 120;

/** Bytes: `1.5 kB` on a terminal, the number elsewhere. */
export const sizeColumn = <Row>(header: string, value: (row: Row) => unknown): Column<Row> => ({
  header,
  value,
  align: 'right',
  show: (bytes, view) => (view.tty && typeof bytes === 'number' ? formatSize(bytes) : bytes),
});

/** A field of a record that is more than text. */
class FormattedValue {
  readonly field: Omit<Field, 'label'>;

  constructor(field: { value: unknown; style?: CellStyle; time?: boolean }) {
    this.field = field;
  }
}

export const status = (value: string): unknown => new FormattedValue({ value, style: 'status' });
export const time = (value: string | null | undefined): unknown => new FormattedValue({ value, time: true });

/** A command that is suggested as the next step. */
export const nextStep = (command: string | undefined, { completeCommand }: View): string | undefined =>
  command === undefined ? undefined : (completeCommand?.(command) ?? command);

/** A text in a style. */
export const withStyle = (value: string, style: CellStyle | undefined): unknown =>
  new FormattedValue(style === undefined ? { value } : { value, style });

/** The fields of a record in the form that the renderer expects. */
export const recordFields = (fields: Record<string, unknown>): Field[] =>
  Object.entries(fields).map(([label, value]) => ({ label, ...(value instanceof FormattedValue ? value.field : { value }) }));

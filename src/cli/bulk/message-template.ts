/** Messages made from the columns of a row, with a template in Liquid, as in procedures. */
import { UsageError } from '../../base/errors.ts';
import { render, TemplateError, templateReferences } from '../../base/liquid.ts';
import type { Rows } from './rows.ts';

export class MessageTemplate {
  readonly #template: string;
  readonly #columns: readonly string[];
  /** The columns that the template names. */
  readonly usedColumns: ReadonlySet<string>;

  /** @throws UsageError for an invalid template, or a column that the file does not have */
  constructor(template: string, { columns }: Pick<Rows, 'columns'>, file: string) {
    this.#template = template;
    this.#columns = columns;
    const references = withUsageErrors(() => templateReferences(template));
    const names = references.map(({ path: [first = '', second = ''] }) => (first === 'row' && !columns.includes('row') ? second : first));
    const unknown = names.find((name) => !columns.includes(name));
    if (unknown !== undefined)
      throw new UsageError(
        `--message: ${file} has no column "${unknown}".`,
        `Its columns are: ${columns.join(', ')}. Write {{ row["a name"] }} for a name with spaces.`,
      );
    this.usedColumns = new Set(names);
  }

  /** @throws UsageError when the template cannot be rendered with these values */
  render(values: Record<string, unknown>, row: number): string {
    // A column that a row of NDJSON lacks is empty, as an empty cell in CSV.
    const rowValues = Object.fromEntries(this.#columns.map((column) => [column, Object.hasOwn(values, column) ? values[column] : null]));
    return withUsageErrors(() => render(this.#template, { row: rowValues, ...rowValues }), ` (row ${row})`);
  }
}

function withUsageErrors<Value>(action: () => Value, place = ''): Value {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { line, column } = error.position;
    throw new UsageError(
      `--message, line ${line}, column ${column}: ${error.message}${place}.`,
      'The message is a template: {{ column }} is replaced with the value of that column.',
    );
  }
}

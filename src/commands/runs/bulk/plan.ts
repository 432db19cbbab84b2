/** Turns the rows of a file into the runs to start. Pure. */
import { MessageTemplate } from '../../../cli/bulk/message-template.ts';
import type { FailedRow, Row, Rows } from '../../../cli/bulk/rows.ts';

/** What the flags specify for all rows. */
export interface RowDefaults {
  agent: string | undefined;
  /** A template. */
  message: string | undefined;
  upload: readonly string[];
}

/** A run that a row describes. */
export interface PlannedRow {
  row: number;
  /** The ID or name of the agent. */
  agent: string;
  message: string | undefined;
  upload: string[];
}

/**
 * A column named `agent` or `message` replaces the flag of that name for rows where it is not empty, and `upload` adds files. If the
 * template uses the column `message`, that column does not replace the template.
 * @throws UsageError when the template does not fit the file
 */
export function planRows(rows: Rows, defaults: RowDefaults, file: string): { planned: PlannedRow[]; failedRows: FailedRow[] } {
  const template = defaults.message === undefined ? undefined : new MessageTemplate(defaults.message, rows, file);
  const planned: PlannedRow[] = [];
  const failedRows: FailedRow[] = [];
  for (const row of rows.rows) {
    const agent = textOf(row, 'agent').trim() || defaults.agent;
    const ownMessage = template?.usedColumns.has('message') ? '' : textOf(row, 'message');
    const message = ownMessage.trim() === '' ? template?.render(row.values, row.number) : ownMessage;
    if (agent === undefined) failedRows.push({ row: row.number, reason: 'the row has no agent, and --agent was not specified' });
    else planned.push({ row: row.number, agent, message, upload: [...defaults.upload, ...filesOf(row)] });
  }
  return { planned, failedRows };
}

function textOf(row: Row, column: string): string {
  const value = row.values[column];
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A list of paths, or a text of paths separated by semicolons. */
function filesOf(row: Row): string[] {
  const value = row.values.upload;
  const paths = Array.isArray(value) ? value.map(String) : textOf(row, 'upload').split(';');
  return paths.map((path) => path.trim()).filter((path) => path !== '');
}

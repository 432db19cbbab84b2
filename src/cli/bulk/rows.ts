/** Reads the rows of a CSV, JSON or NDJSON file. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/values.ts';
import { toCsv } from '../../terminal/csv.ts';
import { decodeText } from '../input/body.ts';
import { parseCsv } from './csv.ts';

/** The column with the reason in the file of failed rows; it is never imported. */
export const reasonColumn = 'aops_reason';

export interface Row {
  /** 1, 2, 3 ... */
  number: number;
  values: Record<string, unknown>;
}

export const rowFormats = ['csv', 'json', 'ndjson'] as const;
export type RowFormat = (typeof rowFormats)[number];

export interface Rows {
  format: RowFormat;
  /** All columns, in the order of the file. */
  columns: string[];
  rows: Row[];
}

const formats: Record<string, RowFormat> = { '.csv': 'csv', '.tsv': 'csv', '.json': 'json', '.ndjson': 'ndjson', '.jsonl': 'ndjson' };

/**
 * Reads a file in a format, by default that of its extension.
 * @param file its name, as part of a sentence
 * @throws UsageError naming the invalid line
 */
export function readRows(bytes: Uint8Array, file: string, requestedFormat?: RowFormat): Rows {
  const format = requestedFormat ?? formats[path.extname(file).toLowerCase()];
  if (format === undefined)
    throw file === 'standard input'
      ? new UsageError('The format of standard input is unknown.', 'Specify it with --from-format csv, json, or ndjson.')
      : new UsageError(`${file} is not a .csv, .json, .ndjson or .jsonl file.`, 'The extension determines the format.');
  const text = decodeText(bytes, file);
  const values = format === 'csv' ? csvValues(text, file) : format === 'json' ? jsonValues(text, file) : ndjsonValues(text, file);
  const rows = values.map((value, index) => ({ number: index + 1, values: value }));
  const columns = [...new Set(values.flatMap((value) => Object.keys(value)))].filter((name) => name !== reasonColumn);
  if (rows.length === 0) throw new UsageError(`${file} has no rows.`);
  return { format, columns, rows };
}

function csvValues(text: string, file: string): Record<string, unknown>[] {
  const { header, rows } = parseCsv(text, file);
  return rows.map(({ cells }) => Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ''])));
}

function jsonValues(text: string, file: string): Record<string, unknown>[] {
  const whole = parseLine(text, file);
  // The format of `cases list --json`, or a request body of the interface.
  const list = Array.isArray(whole) ? whole : isObject(whole) ? (whole.cases ?? whole.data) : undefined;
  if (!Array.isArray(list))
    throw new UsageError(`${file} does not contain a list; write [{ ... }, ...], or an object with this list as "cases" or "data".`);
  return list.map((value, index) => object(value, `${file}: entry ${index + 1}`));
}

const ndjsonValues = (text: string, file: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [object(parseLine(line, `${file}:${index + 1}`), `${file}:${index + 1}`)]));

function parseLine(text: string, where: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    throw new UsageError(`${where} is not valid JSON: ${(error as Error).message}`);
  }
}

function object(value: unknown, where: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new UsageError(`${where} is not an object.`);
}

export interface FailedRow {
  row: number;
  reason: string;
}

/** Failed rows with their reasons, in the format of the file, so that they can be corrected and imported again. */
export function writeRows({ format, columns, rows }: Rows, failedRows: readonly FailedRow[]): string {
  const values = failedRows.map(({ row, reason }) => ({ ...rows[row - 1]?.values, [reasonColumn]: reason }));
  if (format === 'json') return `${JSON.stringify(values, null, 2)}\n`;
  if (format === 'ndjson') return values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const header = [...columns, reasonColumn];
  return toCsv(
    header,
    values.map((value) => header.map((name) => (value as Record<string, unknown>)[name])),
  );
}

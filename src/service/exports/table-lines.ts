/** Rows as lines of an export, and back. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isObject, jsonValue } from '../../base/values.ts';
import type { Queries } from '../store/database/database.ts';
import type { TableShape } from '../store/database/portable/portable-database.ts';
import { type Row, rowPages } from '../store/database/portable/rows.ts';
import { type LinesEntry, type TableEntry, tableFileName } from './format.ts';
import { damagedExport } from './problems.ts';

/** A row as JSON, with its columns in the order of the shape. */
export const lineOf = ({ columns }: TableShape, row: Row): string =>
  JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column]])));

/** @throws AopsError `export_damaged` */
export function rowOf({ name, columns }: Pick<TableEntry, 'name' | 'columns'>, line: string): Row {
  const row = jsonValue(line);
  const isRow =
    isObject(row) &&
    Object.keys(row).length === columns.length &&
    columns.every((column) => {
      const value = row[column];
      return value === null || typeof value === 'string' || Number.isSafeInteger(value);
    });
  if (!isRow) throw damagedExport(tableFileName(name), 'contains a line that is not a row');
  return row as Row;
}

/** What the file of a table would be if it was exported. */
export async function linesInDatabase(db: Queries, shape: TableShape, onPage: () => void): Promise<LinesEntry> {
  const hash = createHash('sha256');
  let [rows, bytes] = [0, 0];
  for await (const page of rowPages(db, shape)) {
    for (const row of page) {
      const line = `${lineOf(shape, row)}\n`;
      hash.update(line);
      bytes += Buffer.byteLength(line);
    }
    rows += page.length;
    onPage();
  }
  return { rows, bytes, sha256: hash.digest('hex') };
}

/** Displays any JSON for people: single values as a record, followed by lists of objects as tables. Pure. */
import { pluralize } from '../../base/pluralize.ts';
import { isObject, type JsonObject } from '../../base/values.ts';
import { blockText, cellText, type View } from '../../terminal/cell.ts';
import { type Field, renderRecord } from '../../terminal/record.ts';
import { type Column, renderTable } from '../../terminal/table.ts';

type Json = JsonObject;

const isTable = (value: unknown): value is Json[] => Array.isArray(value) && value.length > 0 && value.every(isObject);

/**
 * The text for the data of a tool. If there is only content, its blocks are printed.
 * @param words the text of the tool for people; programs get the data
 */
export async function showData(data: Json, words: string | undefined, view: View): Promise<string> {
  if (words !== undefined && view.tty) return `${blockText(words, view)}\n`;
  const parts: string[] = [];
  const content = Object.keys(data).length === 1 && isTable(data.content) ? data.content : undefined;
  if (content !== undefined) return `${content.map((block) => showBlock(block, view)).join('\n')}\n`;
  const fields: Field[] = [];
  const tables: [string, Json[]][] = [];
  sort(data, '', fields, tables);
  if (fields.length > 0) parts.push(await renderRecord(fields, view));
  for (const [name, rows] of tables)
    parts.push(`${view.tty ? `${cellText(name, view)}\n` : ''}${await renderTable(rows, columnsOf(rows), view)}`);
  return parts.join(view.tty ? '\n' : '');
}

function showBlock(block: Json, view: View): string {
  if (block.type === 'text') return blockText(block.text, view);
  const bytes = typeof block.data === 'string' ? `, ${pluralize(Buffer.byteLength(block.data, 'base64'), 'byte')}` : '';
  return cellText(`[${block.type} ${block.mimeType ?? block.uri ?? ''}${bytes}]`, view);
}

/** Nested objects become dotted names. */
function sort(data: Json, prefix: string, fields: Field[], tables: [string, Json[]][]): void {
  for (const [name, value] of Object.entries(data)) {
    const label = `${prefix}${name}`;
    if (isObject(value) && Object.keys(value).length > 0) sort(value, `${label}.`, fields, tables);
    else if (isTable(value)) tables.push([label, value]);
    else fields.push({ label, value: value ?? '' });
  }
}

/** A column for each field that has a single value in all rows. */
function columnsOf(rows: readonly Json[]): Column<Json>[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const single = names.filter((name) => rows.every((row) => typeof row[name] !== 'object' || row[name] === null));
  const filledNames = single.filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined));
  return filledNames.map((name) => ({ header: name.toUpperCase(), value: (row) => row[name], shrink: !/(^|_)id$/.test(name) }));
}

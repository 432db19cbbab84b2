/**
 * Results for programs: json, ndjson, yaml, csv and id, with --fields, --jq and --template; and a plain table of all fields. A list is
 * `{"data": [...], "total", "limit", "offset"}` or a bare array. Off a terminal the text is exact; on a terminal,
 * control characters are made harmless.
 */
import { UsageError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/values.ts';
import type { View } from './cell.ts';
import { toCsv } from './csv.ts';
import { checkFields, parseFields, selectFields, valueAt } from './fields.ts';
import { runJq } from './jq.ts';
import { escapeJson, sanitize, sanitizeLine } from './sanitize.ts';
import { renderTable } from './table.ts';
import { renderTemplate } from './template.ts';

export type OutputFormat = 'table' | 'json' | 'ndjson' | 'yaml' | 'csv' | 'id';

export interface RenderOptions {
  format: OutputFormat;
  /** The value of --fields. */
  fields?: string | undefined;
  /** The value of --jq; its result is printed regardless of the format. */
  jq?: string | undefined;
  /** The value of --template; each item is printed with it regardless of the format. */
  template?: string | undefined;
  /** All fields that results of this kind can have, including those that no element of this result contains. */
  knownFields?: readonly string[] | undefined;
  /** The field that `-o id` prints; `id` when left out. */
  idField?: string | undefined;
  view: View;
}

/**
 * The text for `terminal.data()`, ending in a line feed unless it is empty.
 * @throws UsageError for an unknown field, a failing jq filter or template, or `-o id` of results without an ID.
 */
export async function renderData(data: unknown, options: RenderOptions): Promise<string> {
  const { format, view } = options;
  if (options.template !== undefined) return safe(await renderTemplate(itemsOf(data), options.template, options.knownFields), view);
  const paths = options.fields === undefined ? undefined : parseFields(options.fields);
  if (paths) checkFields(itemsOf(data), paths, options.knownFields);
  if (options.jq !== undefined) return safe(await runJq(paths ? selectPaths(data, paths) : data, options.jq, view.tty), view);

  switch (format) {
    case 'json':
      return json(paths ? selectPaths(data, paths) : data, view, view.tty);
    case 'ndjson':
      return itemsOf(paths ? selectPaths(data, paths) : data)
        .map((item) => json(item, view, false))
        .join('');
    case 'yaml': {
      const { stringify } = await import('yaml');
      return safe(stringify(paths ? selectPaths(data, paths) : data, { lineWidth: 0 }), view);
    }
    case 'csv': {
      const header = paths ?? keysOf(itemsOf(data));
      const rows = itemsOf(data).map((item) => header.map((path) => columnValue(item, path, paths !== undefined)));
      return safe(toCsv(header, rows), view);
    }
    case 'id':
      return itemsOf(data)
        .flatMap((item) => idOf(item, options.idField ?? 'id', view) ?? [])
        .map((id) => `${id}\n`)
        .join('');
    case 'table': {
      const header = paths ?? keysOf(itemsOf(data));
      const columns = header.map((path) => ({
        header: path,
        value: (item: unknown) => columnValue(item, path, paths !== undefined),
        shrink: path !== 'id',
      }));
      return renderTable(itemsOf(data), columns, view);
    }
  }
}

/** The elements of a list, or the one resource as the only element. */
export function itemsOf(data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data;
  if (isList(data)) return data.data;
  return data === undefined || data === null ? [] : [data];
}

function isList(data: unknown): data is JsonObject & { data: unknown[] } {
  return isObject(data) && Array.isArray(data.data);
}

function selectPaths(data: unknown, paths: readonly string[]): unknown {
  return isList(data) ? { ...data, data: selectFields(data.data, paths) } : selectFields(data, paths);
}

/** The keys of all elements, in order of their first appearance. */
function keysOf(items: readonly unknown[]): string[] {
  return [...new Set(items.flatMap((item) => (isObject(item) ? Object.keys(item) : ['value'])))];
}

function columnValue(item: unknown, path: string, isPath: boolean): unknown {
  if (!isObject(item)) return path === 'value' ? item : undefined;
  if (isPath) return valueAt(item, path);
  return Object.hasOwn(item, path) ? item[path] : undefined;
}

/** The error for `-o id` if there are no IDs to print. */
export const noIdsError = (): UsageError =>
  new UsageError('These results have no ID.', 'Choose another output format, such as -o json.', 'no_id');

/** Undefined for an element that has none, such as what could not be created; the others still have theirs. */
function idOf(item: unknown, field: string, view: View): string | undefined {
  const id = valueAt(item, field);
  if (id === null) return undefined;
  if (typeof id !== 'string' && typeof id !== 'number') throw noIdsError();
  return view.tty ? sanitizeLine(String(id)) : String(id);
}

function json(value: unknown, view: View, pretty: boolean): string {
  const text = `${JSON.stringify(value ?? null, undefined, pretty ? 2 : undefined)}\n`;
  return view.tty ? escapeJson(text) : text;
}

function safe(text: string, view: View): string {
  return view.tty ? sanitize(text) : text;
}

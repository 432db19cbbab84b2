/**
 * Reads a database in a separate thread, in which a long query delays nothing else: the counterpart of `reader.ts`. It is bundled as
 * a separate file.
 */
import type { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Database, Statement } from 'libsql';
import { packing, type ResultColumn } from '../packed-rows.ts';
import type { ReaderOptions, ReaderRequest, ReaderResponse } from './messages.ts';

const { file, libsql } = workerData as ReaderOptions;
const Libsql = createRequire(libsql)(libsql) as new (file: string, options?: object) => Database;
const database = new Libsql(file, { readonly: true });
database.pragma('query_only=ON');

interface PreparedStatement {
  readonly statement: Statement;
  readonly columns: readonly ResultColumn[];
}

/** How many statements are cached: lists have many forms, and each is used again. */
const maxPrepared = 100;
const cache = new Map<string, PreparedStatement>();

function prepare({ sql, format }: ReaderRequest): PreparedStatement {
  const key = `${format} ${sql}`;
  let entry = cache.get(key);
  if (entry === undefined) {
    const statement = database.prepare(sql);
    const columns = statement.columns() as ResultColumn[];
    const rowPacking = format === 'rows' ? undefined : packing(sql, columns);
    const text = rowPacking === undefined ? sql : format === 'packed' ? rowPacking.allRows : rowPacking.eachRow;
    entry = { statement: database.prepare(text).raw(true), columns };
    if (cache.size >= maxPrepared) cache.clear();
    cache.set(key, entry);
  }
  return entry;
}

function answer(request: ReaderRequest): ReaderResponse {
  const { id, parameters, format } = request;
  try {
    const { statement, columns } = prepare(request);
    if (format === 'rows') return { id, columns, rows: statement.all([...parameters]) as unknown[][] };
    const row = statement.get([...parameters]) as [Buffer | null] | undefined;
    return { id, columns, bytes: row?.[0] ?? null };
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    return { id, problem: { message, code } };
  }
}

parentPort?.on('message', (request: ReaderRequest | 'close') => {
  if (request !== 'close') return parentPort?.postMessage(answer(request));
  // Open statements would keep the file open.
  cache.clear();
  database.close();
  parentPort?.close();
});

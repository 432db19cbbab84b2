/**
 * Reads a database in a separate thread, in which a long query delays nothing else: the counterpart of `reader.ts`. It is bundled as
 * a separate file.
 */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Database } from 'libsql';
import type { ReaderOptions, ReaderRequest } from './messages.ts';
import { ReaderQueries } from './queries.ts';

const { file, libsql } = workerData as ReaderOptions;
const Libsql = createRequire(libsql)(libsql) as new (file: string, options?: object) => Database;
const database = new Libsql(file, { readonly: true });
database.pragma('query_only=ON');
const queries = new ReaderQueries(database);

parentPort?.on('message', (request: ReaderRequest | 'close') => {
  if (request !== 'close') return parentPort?.postMessage(queries.answer(request));
  queries.clear();
  database.close();
  parentPort?.close();
});

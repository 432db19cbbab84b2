/** A thread that reads a database, one query at a time, while this thread continues. It is started with the first query. */
import { Buffer } from 'node:buffer';
import { Worker } from 'node:worker_threads';
import type { CompiledQuery, QueryResult } from 'kysely';
import { damageIn } from '../../damaged-data.ts';
import { kindOf } from '../../execution/kinds.ts';
import type { HintedQuery } from '../../prepared.ts';
import { bindable } from '../../stored-values.ts';
import { packing, type ResultColumn } from '../packed-rows.ts';
import type { ReaderRequest, ReaderResponse } from './messages.ts';
import { libsqlFile, readerProgram } from './worker-file.ts';

interface PendingQuery {
  readonly sql: string;
  resolve(result: QueryResult<never>): void;
  reject(error: unknown): void;
}

export class Reader {
  readonly #file: string;
  readonly #pending = new Map<number, PendingQuery>();
  #worker: Worker | undefined;
  #exit: Promise<void> = Promise.resolve();
  #lastId = 0;

  /** @param file the database, which is opened read-only */
  constructor(file: string) {
    this.#file = file;
  }

  /** Runs a query that changes nothing. Throws SQLite's errors, and DamagedDataError. */
  run(query: CompiledQuery): Promise<QueryResult<never>> {
    const { sql, parameters, firstRowOnly } = query as HintedQuery;
    const format = kindOf(query.query) === 'other' ? 'rows' : firstRowOnly ? 'first packed' : 'packed';
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { sql, resolve, reject });
      const worker = this.#start();
      worker.ref();
      worker.postMessage({ id, sql, parameters: parameters.map(bindable), format } satisfies ReaderRequest);
    });
  }

  /** Resolves when the file is closed. Queries in progress are completed. */
  async close(): Promise<void> {
    // The process must not end before the file is closed, even if nothing else keeps it running.
    this.#worker?.ref();
    this.#worker?.postMessage('close');
    await this.#exit;
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(readerProgram.file, { env: {}, execArgv: [], workerData: { file: this.#file, libsql: libsqlFile() } });
    this.#worker = worker;
    worker.on('message', (response: ReaderResponse) => this.#receive(worker, response));
    worker.on('error', (error) => this.#fail(worker, error));
    this.#exit = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#fail(worker, new Error('The thread that reads the database ended.'));
        resolve();
      });
    });
    return worker;
  }

  #receive(worker: Worker, response: ReaderResponse): void {
    const pending = this.#pending.get(response.id);
    this.#pending.delete(response.id);
    if (this.#pending.size === 0) worker.unref();
    try {
      if ('problem' in response) throw damageIn(Object.assign(new Error(response.problem.message), { code: response.problem.code }));
      const rows =
        'rows' in response
          ? response.rows.map((values) => namedRow(response.columns, values))
          : unpackRows(response.columns, response.bytes);
      pending?.resolve({ rows: rows as never[] });
    } catch (error) {
      pending?.reject(error);
    }
  }

  /** Fails all queries in progress. The next query starts another thread. */
  #fail(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

const unpackRows = (columns: readonly ResultColumn[], bytes: Uint8Array | null): never[] =>
  packing('', columns).unpack(bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

const namedRow = (columns: readonly ResultColumn[], values: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(columns.map(({ name }, index) => [name, values[index]]));

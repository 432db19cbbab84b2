/** Files whose content is in the database, in chunks: for nodes that share nothing else. Only Postgres offers it. */
import { Readable } from 'node:stream';
import { sql } from 'kysely';
import { inPieces } from '../../files/pieces.ts';
import type { ByteRange, FileBackend } from '../../files/stored-file.ts';
import type { Store } from '../database/database.ts';

/** Bytes: each chunk is written and read with one query, and held in memory as a whole. */
export const chunkLength = 1024 * 1024;
/** Rows per query. */
const pageSize = 1_000;

export class DatabaseFiles implements FileBackend {
  readonly kind = 'database';
  readonly #store: Store;

  /** @param store a Postgres database */
  constructor(store: Store) {
    this.#store = store;
  }

  async put(key: string, data: AsyncIterable<Uint8Array>): Promise<void> {
    const store = this.#store;
    await store.insertInto('files').values({ key, size: null }).execute();
    try {
      let [number, size] = [0, 0];
      // Each chunk is a transaction: the data can come slowly, and a transaction must not wait for it.
      for await (const content of inPieces(data, chunkLength)) {
        await store.insertInto('file_chunks').values({ key, number, content }).execute();
        number += 1;
        size += content.length;
      }
      const { numUpdatedRows } = await store.updateTable('files').set({ size }).where('key', '=', key).executeTakeFirst();
      if (numUpdatedRows === 0n) throw new Error(`The file ${key} was removed while it was being stored.`);
    } catch (error) {
      await this.delete([key]).catch(() => undefined);
      throw error;
    }
  }

  async open(key: string, range: ByteRange | undefined): Promise<Readable | undefined> {
    const file = await this.#store
      .selectFrom('files')
      .select('size')
      .where('key', '=', key)
      .where('size', 'is not', null)
      .executeTakeFirst();
    if (file === undefined) return undefined;
    const end = Math.min(range?.end ?? Number.POSITIVE_INFINITY, Number(file.size) - 1);
    return Readable.from(this.#chunks(key, { start: range?.start ?? 0, end }), { objectMode: false });
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += pageSize) {
      await this.#store
        .deleteFrom('files')
        .where('key', 'in', keys.slice(start, start + pageSize))
        .execute();
    }
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; size: number }> {
    for (let last = ''; ; ) {
      const rows = await this.#store
        .selectFrom('files')
        .select(['key', 'size'])
        .where('key', '>', last)
        .where('key', '>=', prefix)
        // It sorts after all characters of keys.
        .where('key', '<', `${prefix}~`)
        .where('size', 'is not', null)
        .orderBy('key')
        .limit(pageSize)
        .execute();
      for (const { key, size } of rows) yield { key, size: Number(size) };
      if (rows.length < pageSize) return;
      last = (rows.at(-1) as { key: string }).key;
    }
  }

  async check(): Promise<void> {
    await this.#store.selectFrom('files').select('key').limit(1).execute();
  }

  async *#chunks(key: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let position = start; position <= end; ) {
      const offset = position % chunkLength;
      const length = Math.min(chunkLength - offset, end - position + 1);
      const chunk = await this.#store
        .selectFrom('file_chunks')
        .select(sql<Uint8Array>`substring(content from ${offset + 1} for ${length})`.as('content'))
        .where('key', '=', key)
        .where('number', '=', Math.floor(position / chunkLength))
        .executeTakeFirst();
      // The file is being removed. Whoever reads it notices that it ends too early.
      if (chunk === undefined || chunk.content.byteLength === 0) return;
      yield chunk.content;
      position += chunk.content.byteLength;
    }
  }
}

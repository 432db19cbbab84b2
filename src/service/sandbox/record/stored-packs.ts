/** Reads many recorded files one after the other: small ones that are stored together are read together. */
import type { Buffer } from 'node:buffer';
import type { RecordedFile } from './entries.ts';
import { type OpenBytes, wholeOf } from './fetch.ts';

/** The largest stored file that is read into memory, in bytes; packs of small files are smaller. */
const maxPackBytes = 5 * 1024 * 1024;
/** The number of packs that are kept in memory. */
const maxPacks = 2;

export class StoredPacks {
  readonly #open: OpenBytes;
  /** The part of each stored file that contains files, by key. */
  readonly #extents = new Map<string, { start: number; end: number }>();
  readonly #packs = new Map<string, Buffer>();

  /** @param files all files that will be read */
  constructor(files: readonly RecordedFile[], open: OpenBytes) {
    this.#open = open;
    for (const { stored, size } of files) {
      if (stored === null) continue;
      const { start, end } = this.#extents.get(stored.key) ?? { start: stored.position, end: stored.position };
      this.#extents.set(stored.key, { start: Math.min(start, stored.position), end: Math.max(end, stored.position + size - 1) });
    }
  }

  /** The bytes of one of the files; undefined if they are no longer stored. */
  async chunksOf({ stored, size }: RecordedFile): Promise<Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined> {
    if (stored === null) return [];
    const { key, position } = stored;
    const extent = this.#extents.get(key);
    if (extent === undefined || extent.end - extent.start >= maxPackBytes)
      return this.#open(key, { start: position, end: position + size - 1 });
    const pack = this.#packs.get(key) ?? (await this.#read(key, extent));
    return pack && [pack.subarray(position - extent.start, position - extent.start + size)];
  }

  async #read(key: string, extent: { start: number; end: number }): Promise<Buffer | undefined> {
    const chunks = await this.#open(key, extent);
    if (chunks === undefined) return undefined;
    const pack = await wholeOf(chunks);
    const [oldest] = this.#packs.keys();
    if (oldest !== undefined && this.#packs.size >= maxPacks) this.#packs.delete(oldest);
    this.#packs.set(key, pack);
    return pack;
  }
}

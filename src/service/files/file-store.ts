/**
 * Files that any node can read: those that runs produce, apart from their sandboxes. A file appears complete or not at all, never
 * changes, and is verified when it is read.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ByteRange, FileBackend, FileData, StoredFile } from './stored-file.ts';

/** A file whose bytes are not those that were stored. */
export class DamagedFileError extends Error {
  constructor(key: string, problem: string) {
    super(`The stored file ${key} is damaged: ${problem}.`);
    this.name = 'DamagedFileError';
  }
}

const keyPattern = /^[\w-]{1,100}(\/[\w-]{1,100}){1,7}$/;

export class FileStore {
  readonly #backend: FileBackend;

  constructor(backend: FileBackend) {
    this.#backend = backend;
  }

  get kind(): FileBackend['kind'] {
    return this.#backend.kind;
  }

  /**
   * Stores a file. Resolves when all of it is durable; if it rejects, there is no such file.
   * @param key two to eight names of letters, digits, `-`, and `_`, separated by `/`. It must be new: part of it is random.
   */
  async put(key: string, data: FileData): Promise<StoredFile> {
    checkKey(key);
    const digest = createHash('sha256');
    let size = 0;
    const measure = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of data instanceof Uint8Array ? [data] : data) {
        digest.update(chunk);
        size += chunk.byteLength;
        yield chunk;
      }
    };
    await this.#backend.put(key, measure());
    return { key, size, sha256: digest.digest('hex') };
  }

  /**
   * The bytes of a file, or those of a range; undefined if there is no such file. The stream fails with a DamagedFileError if there are
   * more or fewer bytes than there were, and before its end if the whole file has another digest. Destroy it if you do not read it.
   */
  async open(file: StoredFile, range?: ByteRange): Promise<Readable | undefined> {
    checkKey(file.key);
    const source = await this.#backend.open(file.key, range);
    if (source === undefined) return undefined;
    const stream = Readable.from(verified(file, source, range), { objectMode: false });
    // A generator that was not started does not end what it reads.
    stream.once('close', () => source.destroy());
    return stream;
  }

  /** Removes files. There may be no file with a key. */
  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key);
    if (keys.length > 0) await this.#backend.delete(keys);
  }

  /** Removes files that may have been put only in part, because the process that did so has ended. */
  async deleteUnfinished(keys: readonly string[]): Promise<void> {
    await this.delete(keys);
    if (keys.length > 0) await this.#backend.deleteUnfinished?.(keys);
  }

  /** The files whose keys begin with a text, in no particular order. */
  list(prefix: string): AsyncIterable<{ key: string; size: number }> {
    return this.#backend.list(prefix);
  }

  /** Rejects if files cannot be stored or read at the moment. */
  check(): Promise<void> {
    return this.#backend.check();
  }

  async close(): Promise<void> {
    await this.#backend.close?.();
  }
}

/** The bytes of a source. The last ones come when everything has been verified, so that nobody takes a damaged file for a complete one. */
async function* verified({ key, size, sha256 }: StoredFile, source: Readable, range: ByteRange | undefined): AsyncGenerator<Uint8Array> {
  const expectedLength = range === undefined ? size : range.end - range.start + 1;
  const digest = range === undefined ? createHash('sha256') : undefined;
  let length = 0;
  let last: Uint8Array | undefined;
  for await (const chunk of source as AsyncIterable<Uint8Array>) {
    if (last !== undefined) yield last;
    last = chunk;
    length += chunk.byteLength;
    digest?.update(chunk);
    if (length > expectedLength) throw new DamagedFileError(key, `it has more than ${expectedLength} bytes`);
  }
  if (length < expectedLength) throw new DamagedFileError(key, `it ends after ${length} of ${expectedLength} bytes`);
  if (digest !== undefined && digest.digest('hex') !== sha256) throw new DamagedFileError(key, 'its content has changed');
  if (last !== undefined) yield last;
}

function checkKey(key: string): void {
  if (!keyPattern.test(key)) throw new TypeError(`${JSON.stringify(key)} is not the key of a file.`);
}

/**
 * Writes a tar archive (POSIX.1-2017, pax interchange format). It yields the bytes of one entry at a time, and an entry begins only
 * when those of the previous one have been read: tar-stream by itself would buffer any number of entries without content.
 */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type Header, pack } from 'tar-stream';
import { sumKeyword, type TarEntry, type TarType } from './tar-entry.ts';

const types = { file: 'file', folder: 'directory', link: 'symlink' } as const satisfies Record<TarType, Header['type']>;

/** The latest time, in seconds, that tar-stream can write to a header: it truncates times to 32 bits. */
const latestTime = 2 ** 31 - 1;

export class TarWriter {
  readonly #pack = pack();

  constructor() {
    // Without a listener an error would end the process. `add` throws it.
    this.#pack.on('error', () => undefined);
    // This listener makes the stream open before it is read.
    this.#pack.on('readable', () => undefined);
  }

  /** The bytes of an entry. @throws Error if the size of the content differs from that of the entry */
  async *add(entry: TarEntry, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = []): AsyncGenerator<Buffer> {
    const sink = this.#pack.entry(headerOf(entry));
    sink.on('error', () => undefined);
    for await (const chunk of content) {
      sink.write(chunk);
      yield* this.#nextBytes();
    }
    const closed = once(sink, 'close');
    sink.end(undefined);
    await closed;
    yield* this.#bufferedBytes();
  }

  /** The bytes after the last entry. */
  async *end(): AsyncGenerator<Buffer> {
    this.#pack.finalize();
    yield* this.#pack as AsyncIterable<Buffer>;
  }

  close(): void {
    this.#pack.destroy();
  }

  /** Waits for the next bytes, and reads all of them, so that tar-stream buffers one chunk at most. */
  async *#nextBytes(): AsyncGenerator<Buffer> {
    for (let bytes = this.#read(); ; bytes = this.#read()) {
      if (bytes !== null) {
        yield bytes;
        break;
      }
      await once(this.#pack, 'readable');
    }
    yield* this.#bufferedBytes();
  }

  *#bufferedBytes(): Generator<Buffer> {
    for (let bytes = this.#read(); bytes !== null; bytes = this.#read()) yield bytes;
  }

  #read(): Buffer | null {
    return this.#pack.read() as Buffer | null;
  }
}

function headerOf({ name, type, size, mode, modifiedAt, target, sha256 }: TarEntry): Parameters<ReturnType<typeof pack>['entry']>[0] {
  const seconds = Math.floor(modifiedAt);
  const isInRange = seconds >= 0 && seconds <= latestTime;
  const pax = { ...(isInRange ? {} : { mtime: String(seconds) }), ...(sha256 === undefined ? {} : { [sumKeyword]: sha256 }) };
  return {
    name,
    type: types[type],
    size,
    mode,
    mtime: new Date((isInRange ? seconds : 0) * 1_000),
    ...(target === undefined ? {} : { linkname: target }),
    ...(Object.keys(pax).length === 0 ? {} : { pax }),
  };
}

/** Stores small files together, because storing one takes about as long as storing a hundred. */
import { Buffer } from 'node:buffer';
import type { StoredBytes } from './entries.ts';

/** Files up to this size are stored together, in bytes. */
export const maxSmallBytes = 128 * 1024;
/** The size from which a pack of them is complete, in bytes. */
const packBytes = 4 * 1024 * 1024;

/** Stores bytes under a new key. */
export type PutBytes = (data: Uint8Array | AsyncIterable<Uint8Array>) => Promise<{ key: string; size: number; sha256: string }>;

interface Part {
  bytes: Uint8Array;
  onStored: (stored: StoredBytes) => void;
}

export class FilePacks {
  readonly #put: PutBytes;
  #parts: Part[] = [];
  #size = 0;
  /** The keys of the packs so far. */
  readonly keys: string[] = [];

  constructor(put: PutBytes) {
    this.#put = put;
  }

  /** @param onStored called when the bytes, of which there is at least one, are stored: by `flush` at the latest */
  async add(bytes: Uint8Array, onStored: (stored: StoredBytes) => void): Promise<void> {
    this.#parts.push({ bytes, onStored });
    this.#size += bytes.length;
    if (this.#size >= packBytes) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#parts.length === 0) return;
    const { key } = await this.#put(Buffer.concat(this.#parts.map(({ bytes }) => bytes)));
    this.keys.push(key);
    let position = 0;
    for (const { bytes, onStored } of this.#parts) {
      onStored({ key, position });
      position += bytes.length;
    }
    this.#parts = [];
    this.#size = 0;
  }
}

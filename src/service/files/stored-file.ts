/** Files of the service as the rows of the database describe them, and the bytes behind them. */
import type { Readable } from 'node:stream';
import type { ByteRange } from '../../base/byte-range.ts';

export type { ByteRange };

/** A file that was stored completely. */
export interface StoredFile {
  /** Names the file. Never used for another one. */
  key: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of its bytes in hex. */
  sha256: string;
}

/** What a file is made of. */
export type FileData = Uint8Array | AsyncIterable<Uint8Array>;

/** Where bytes are kept. `FileStore` checks keys, sizes, and digests for all of them. */
export interface FileBackend {
  readonly kind: 'folder' | 'database' | 's3';
  /** Stores a file completely or not at all, also if `data` fails. The key was never used before. */
  put(key: string, data: AsyncIterable<Uint8Array>): Promise<void>;
  /** The bytes of a range, or all of them; undefined if there is no such file. */
  open(key: string, range: ByteRange | undefined): Promise<Readable | undefined>;
  /** Removes files. There may be no file with a key. */
  delete(keys: readonly string[]): Promise<void>;
  /** Removes what puts that were interrupted by a crash have left behind, unless `delete` does. */
  deleteUnfinished?(keys: readonly string[]): Promise<void>;
  /** The files whose keys begin with a text, in no particular order. */
  list(prefix: string): AsyncIterable<{ key: string; size: number }>;
  /** Rejects if files cannot be stored or read at the moment. */
  check(): Promise<void>;
  close?(): Promise<void>;
}

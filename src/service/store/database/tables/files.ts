/** Files in the file store. What they belong to is in other tables, such as `run_files`. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** A file that no other row refers to: it is being written, or has to be removed. */
export interface UnreferencedFilesTable {
  key: Fixed<string>;
  /** 1 once it is decided that the file is removed; it can no longer be referred to then. */
  removable: number;
  /** Milliseconds. A file that is still being written then is taken for one that a crash has left behind. */
  remove_at: number;
}

/** A file whose content is in the database, which only Postgres offers. */
export interface FilesTable {
  key: Fixed<string>;
  /** Bytes; null until the file is complete. */
  size: number | null;
}

/** The content of a file in chunks of the same size; the last one may be smaller. */
export interface FileChunksTable {
  key: Fixed<string>;
  /** From 0. */
  number: Fixed<number>;
  content: Fixed<Uint8Array>;
}

export interface FilesTables {
  unreferenced_files: UnreferencedFilesTable;
  files: FilesTable;
  file_chunks: FileChunksTable;
}

export type UnreferencedFileRow = Selectable<UnreferencedFilesTable>;

/**
 * A new file on the disk. What is quick is done at once: handing it to a thread takes ten times as long as doing it,
 * which is most of the time that thousands of small files take. What can be slow, large pieces and syncing, is not.
 */
import { closeSync, constants, fchmodSync, fsync, ftruncate, openSync, writev, writevSync } from 'node:fs';
import { promisify } from 'node:util';

/** Bytes that are written at once, to the page cache. */
const quickWrite = 64 * 1024;

const writePieces = promisify(writev) as unknown as (
  descriptor: number,
  pieces: readonly Uint8Array[],
  position: number,
) => Promise<{ bytesWritten: number }>;

export interface DiskFile {
  /** Writes pieces of `size` bytes at a place, and resolves to the number that was taken: fewer where the disk is nearly full. */
  write(pieces: readonly Uint8Array[], size: number, position: number): Promise<number>;
  empty(): Promise<void>;
  /** Waits until everything is on the disk. */
  sync(): Promise<void>;
  setMode(mode: number): void;
  close(): void;
}

export type OpenFile = (file: string, mode: number) => DiskFile;

/** Makes a file that is not there yet, without following anything. */
export const openDiskFile: OpenFile = (file, mode) => {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
  return {
    async write(pieces, size, position) {
      if (size <= quickWrite) return writevSync(descriptor, pieces, position);
      return (await writePieces(descriptor, pieces, position)).bytesWritten;
    },
    empty: () => promisify(ftruncate)(descriptor, 0),
    sync: () => promisify(fsync)(descriptor),
    setMode: (mode) => fchmodSync(descriptor, mode),
    close: () => closeSync(descriptor),
  };
};

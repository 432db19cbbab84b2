/**
 * A new file on the disk. What is quick is done at once: handing it to a thread takes ten times as long as doing it,
 * which is most of the time that thousands of small files take. What can be slow, large pieces and syncing, is not.
 */
import { closeSync, constants, fchmodSync, fdatasync, fsync, ftruncate, openSync, write, writevSync } from 'node:fs';
import { promisify } from 'node:util';

/** Bytes that are written at once, to the page cache. */
const quickWrite = 64 * 1024;

const writePart = promisify(write) as unknown as (
  descriptor: number,
  data: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ bytesWritten: number }>;

export interface DiskFile {
  /** Writes at a place, and resolves to the number of bytes that were taken: fewer where the disk is nearly full. */
  write(data: Uint8Array, offset: number, position: number): Promise<number>;
  empty(): Promise<void>;
  /** Waits until the content is on the disk; with `all`, the rest that belongs to it as well. */
  sync(all: boolean): Promise<void>;
  setMode(mode: number): void;
  close(): void;
}

export type OpenFile = (file: string, mode: number) => DiskFile;

/** Makes a file that is not there yet, without following anything. */
export const openDiskFile: OpenFile = (file, mode) => {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
  return {
    async write(data, offset, position) {
      const length = data.length - offset;
      if (length <= quickWrite) return writevSync(descriptor, [data.subarray(offset)], position);
      return (await writePart(descriptor, data, offset, length, position)).bytesWritten;
    },
    empty: () => promisify(ftruncate)(descriptor, 0),
    sync: (all) => promisify(all ? fsync : fdatasync)(descriptor),
    setMode: (mode) => fchmodSync(descriptor, mode),
    close: () => closeSync(descriptor),
  };
};

/**
 * A new file on the disk. What is quick is done at once: handing it to a thread takes ten times as long as doing it,
 * which is most of the time that thousands of small files take, and competes with receiving a large one. A disk that
 * turns out to be slow is written to by a thread, so that Ctrl-C does not wait for it.
 */
import { closeSync, constants, fchmodSync, fsync, ftruncate, openSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** Milliseconds of one write after which a disk is slow. */
const slowWrite = 20;

const writePart = promisify(write) as unknown as (
  descriptor: number,
  data: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ bytesWritten: number }>;

export interface DiskFile {
  /** Writes at a place, and gives the number of bytes that were taken: fewer where the disk is nearly full. */
  write(data: Uint8Array, position: number): number | Promise<number>;
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
  let slow = false;
  return {
    write(data, position) {
      if (slow) return writePart(descriptor, data, 0, data.length, position).then(({ bytesWritten }) => bytesWritten);
      const started = performance.now();
      const written = writeSync(descriptor, data, 0, data.length, position);
      slow = performance.now() - started > slowWrite;
      return written;
    },
    empty: () => promisify(ftruncate)(descriptor, 0),
    sync: () => promisify(fsync)(descriptor),
    setMode: (mode) => fchmodSync(descriptor, mode),
    close: () => closeSync(descriptor),
  };
};

/**
 * A new file on the disk. What is quick is done at once: handing it to a thread takes ten times as long as doing it,
 * which is most of the time that thousands of small files take, and competes with receiving a large one. A disk that
 * turns out to be slow is written to by a thread, so that Ctrl-C does not wait for it.
 */
import { closeSync, constants, fchmodSync, fsync, ftruncate, openSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** Milliseconds of one write after which a disk is slow. */
const slowWrite = 20;

/** Bytes after which a thread begins to sync, while more of the file comes: at the end everybody would wait for all of it. */
const syncEvery = 8 * 1_048_576;

/** Milliseconds of one such sync after which there are no more: the process cannot end before it, so Ctrl-C would wait. */
const slowSync = 50;

const syncFile = promisify(fsync);

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
  let unsynced = 0;
  let syncing = false;
  let lingers = false;
  // Once failed it stays so: the system tells of what it could not write one time only, and the next sync would succeed.
  let ahead = Promise.resolve();
  const settled = (): Promise<void> => ahead.catch(() => undefined);
  const syncAhead = (): void => {
    unsynced = 0;
    syncing = true;
    const started = performance.now();
    ahead = ahead.then(() => syncFile(descriptor));
    void settled().then(() => {
      syncing = false;
      lingers = performance.now() - started > slowSync;
    });
  };
  return {
    write(data, position) {
      unsynced += data.length;
      if (unsynced >= syncEvery && !syncing && !lingers) syncAhead();
      if (slow) return writePart(descriptor, data, 0, data.length, position).then(({ bytesWritten }) => bytesWritten);
      const started = performance.now();
      const written = writeSync(descriptor, data, 0, data.length, position);
      slow = performance.now() - started > slowWrite;
      return written;
    },
    empty: () => promisify(ftruncate)(descriptor, 0),
    sync: () => ahead.then(() => syncFile(descriptor)),
    setMode: (mode) => fchmodSync(descriptor, mode),
    close() {
      // Its number must not go to another file while the disk still works on this one.
      if (syncing) void settled().then(() => closeSync(descriptor));
      else closeSync(descriptor);
    },
  };
};

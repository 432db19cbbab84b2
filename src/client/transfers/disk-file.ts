/**
 * A new file on the disk. Fast operations are synchronous: handing them to a thread takes ten times as long as doing them,
 * which would be most of the time that thousands of small files take, and competes with receiving a large one. If the disk
 * turns out to be slow, a thread writes to it, so that Ctrl-C does not have to wait.
 */
import { closeSync, constants, fchmodSync, fsync, ftruncate, openSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** A disk counts as slow when one write takes longer than this, in milliseconds. */
const slowWrite = 20;

/** Bytes after which a thread starts to sync while the file is still being received: at the end, everything would wait for it. */
const syncEvery = 8 * 1_048_576;

/** If one such sync takes longer than this, in milliseconds, there are no more: the process cannot exit during one, so Ctrl-C would wait. */
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
  /** Writes at a position and returns the number of bytes written: fewer if the disk is nearly full. */
  write(data: Uint8Array, position: number): number | Promise<number>;
  empty(): Promise<void>;
  /** Waits until everything is on the disk. */
  sync(): Promise<void>;
  setMode(mode: number): void;
  close(): void;
}

export type OpenFile = (file: string, mode: number) => DiskFile;

/** Creates a new file, without following links. */
export const openDiskFile: OpenFile = (file, mode) => {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
  let isSlow = false;
  let unsyncedBytes = 0;
  let syncing = false;
  let lingers = false;
  // A failure is permanent: the system reports a failed write only once, and the next sync would succeed.
  let syncDone = Promise.resolve();
  const whenSettled = (): Promise<void> => syncDone.catch(() => undefined);
  const syncAhead = (): void => {
    unsyncedBytes = 0;
    syncing = true;
    const startedAt = performance.now();
    syncDone = syncDone.then(() => syncFile(descriptor));
    void whenSettled().then(() => {
      syncing = false;
      lingers = performance.now() - startedAt > slowSync;
    });
  };
  return {
    write(data, position) {
      unsyncedBytes += data.length;
      if (unsyncedBytes >= syncEvery && !syncing && !lingers) syncAhead();
      if (isSlow) return writePart(descriptor, data, 0, data.length, position).then(({ bytesWritten }) => bytesWritten);
      const startedAt = performance.now();
      const writtenBytes = writeSync(descriptor, data, 0, data.length, position);
      isSlow = performance.now() - startedAt > slowWrite;
      return writtenBytes;
    },
    empty: () => promisify(ftruncate)(descriptor, 0),
    sync: () => syncDone.then(() => syncFile(descriptor)),
    setMode: (mode) => fchmodSync(descriptor, mode),
    close() {
      // The descriptor must not be reused for another file while the disk still works on this one.
      if (syncing) void whenSettled().then(() => closeSync(descriptor));
      else closeSync(descriptor);
    },
  };
};

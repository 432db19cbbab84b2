/** Reads files that other processes may be changing. */
import { Buffer } from 'node:buffer';
import { constants, openSync, readSync, type Stats } from 'node:fs';

const chunkBytes = 262_144;
/** Bytes of holes, in all files of sandboxes together, that are written as the zeros they read as. */
const maxHoleBytes = 1_073_741_824;
/** A file that is smaller on the disk by more than this factor was not just compressed: ZFS and btrfs compress a 128 KiB record to 4 KiB at best. */
const bestCompression = 64;

/** Opens a file for reading. @throws NodeJS.ErrnoException, `ELOOP` for a link */
export function openForCopy(place: string): number {
  // If a pipe has taken the place of the file, opening it must not wait for a writer.
  return openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/**
 * The first `size` bytes of an open file; zeros for those that are no longer there.
 * @param onShort called once when the file has become shorter
 */
export function* fileBytes(descriptor: number, size: number, onShort: () => void): Generator<Buffer> {
  let isShort = false;
  for (let position = 0; position < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
    const length = isShort ? 0 : readSync(descriptor, chunk, 0, chunk.length, position);
    if (length === 0 && !isShort) {
      isShort = true;
      onShort();
    }
    const bytes = isShort ? chunk.fill(0) : chunk.subarray(0, length);
    position += bytes.length;
    yield bytes;
  }
}

/** Recognises files that consist of holes: one command makes a file of any length that takes up no space. */
export class Holes {
  #bytes = 0;

  /** Whether a file has more holes than a backup may still write as zeros. */
  areTooMany(file: Stats): boolean {
    const holes = file.size - bytesOnDisk(file);
    if (bytesOnDisk(file) * bestCompression > file.size) return false;
    if (this.#bytes + holes > maxHoleBytes) return true;
    this.#bytes += holes;
    return false;
  }
}

/** `st_blocks` counts units of 512 bytes, whatever the block size of the file system; where it is unknown, the whole file is taken to be on the disk. */
export const bytesOnDisk = ({ size, blocks }: Stats): number => (Number.isFinite(blocks) ? blocks * 512 : size);

const reasons: Record<string, string> = {
  ENOENT: 'it no longer exists on the disk',
  EACCES: 'it cannot be read, so it is left out',
  EPERM: 'it cannot be read, so it is left out',
  ELOOP: 'it became a link, so it is left out',
  ENAMETOOLONG: 'its path is too long, so it is left out',
};

/** Why something could not be read, for a `Problem`. Throws the error if the backup must not continue without it. */
export function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) throw error;
  return reason;
}

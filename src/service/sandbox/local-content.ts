/** The content of a file on this machine, for an archive. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../errors.ts';
import { hostTrouble } from '../host-trouble.ts';
import { isOpenInside, openFlags, type Place } from './paths.ts';
import type { FileContent } from './sandbox-files.ts';

/** Files up to this size are read in one piece, in bytes. */
const maxWholeBytes = 262_144;
const chunkBytes = 262_144;

/**
 * What a located file contains; undefined if it can no longer be read, or is larger than `maxBytes`.
 * @param openPlace opens it, and verifies that the open file is inside the sandbox
 */
export async function localContent(
  root: string,
  place: Place,
  openPlace: () => Promise<FileHandle>,
  maxBytes: number,
): Promise<FileContent | undefined> {
  const whole = readWhole(root, place, Math.min(maxBytes, maxWholeBytes));
  if (whole !== undefined) return { size: whole.length, sha256: createHash('sha256').update(whole).digest('hex'), chunks: [whole] };
  const handle = await openPlace().catch((error: unknown) => {
    // Requested by itself, the file gets the answer that says why.
    if (error instanceof ServiceError || hostTrouble(error) === undefined) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    if (size <= maxBytes) {
      const hash = createHash('sha256');
      for await (const bytes of contentOf(handle, size)) hash.update(bytes);
      return { size, sha256: hash.digest('hex'), chunks: contentOf(handle, size), close: () => handle.close() };
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return undefined;
}

/**
 * The content of a small file. It is read synchronously, which takes a fraction of the time that several calls through threads do.
 * Undefined if it cannot be read in this way.
 */
export function readWhole(root: string, place: Pick<Place, 'realPath'>, maxBytes = maxWholeBytes): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(place.realPath, openFlags);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > maxBytes || !isOpenInside(root, descriptor)) return undefined;
    const bytes = Buffer.allocUnsafe(stats.size);
    return readSync(descriptor, bytes, 0, bytes.length, 0) === bytes.length ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The first `size` bytes of a file; zeros for those that are no longer there. */
async function* contentOf(handle: FileHandle, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let position = 0; position < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    const bytes = bytesRead === 0 ? buffer.fill(0) : buffer.subarray(0, bytesRead);
    position += bytes.length;
    yield bytes;
  }
}

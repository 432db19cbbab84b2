/** What callers learn about a file or directory of a sandbox. */
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { isText, mimeTypeOf, sniffLength } from './file-kind.ts';
import type { Place } from './paths.ts';

/** A file or directory of a sandbox. */
export interface SandboxEntry {
  name: string;
  /** `/workspace/...` */
  path: string;
  type: 'file' | 'directory';
  /** Bytes; 0 for a directory. */
  size: number;
  modifiedAt: Date;
  /** Valid UTF-8 without NUL in its first 64 KiB; false for a directory. */
  isText: boolean;
  mimeType: string | null;
}

/** The entry of a directory that was located. */
export function directoryEntry(place: Place): SandboxEntry {
  return {
    name: path.posix.basename(place.displayPath),
    path: place.displayPath,
    type: 'directory',
    size: 0,
    modifiedAt: (place.stats as NonNullable<Place['stats']>).mtime,
    isText: false,
    mimeType: null,
  };
}

/** The entry of an open file. @param displayPath its path in the sandbox */
export async function fileEntry(displayPath: string, handle: FileHandle): Promise<SandboxEntry> {
  const { size, mtime } = await handle.stat();
  const head = await readStart(handle, Math.min(sniffLength, size));
  const name = path.posix.basename(displayPath);
  return {
    name,
    path: displayPath,
    type: 'file',
    size,
    modifiedAt: mtime,
    isText: isText(head, size > head.length),
    mimeType: mimeTypeOf(name),
  };
}

/** The first `length` bytes of a file, fewer if it is shorter. */
export async function readStart(handle: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let bytesFilled = 0;
  while (bytesFilled < length) {
    const { bytesRead } = await handle.read(bytes, bytesFilled, length - bytesFilled, bytesFilled);
    if (bytesRead === 0) break;
    bytesFilled += bytesRead;
  }
  return bytes.subarray(0, bytesFilled);
}

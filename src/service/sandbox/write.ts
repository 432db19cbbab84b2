/** Writing a sandbox file: to a staging file on the same file system first, then renamed into place, so that readers see all of it or nothing. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../errors.ts';
import { confirm, hasCode, invalidPath, locate, notADirectory, notAFile, type Place } from './paths.ts';

/** `root` is the workspace, `staging` a directory beside it that commands and callers do not see. */
export interface WriteDirectories {
  root: string;
  staging: string;
  /** How the names of this process in `staging` begin. */
  process: string;
}

/** Bytes that come one after the other; a `length` says how many. */
export type ComingBytes = AsyncIterable<Uint8Array> & { readonly length?: number };

/** Writes `data` to the path `given`, creating directories as needed. Throws `file_too_large` (413) past `limit` bytes. */
export async function writeFile(
  directories: WriteDirectories,
  given: string,
  data: Uint8Array | ComingBytes,
  limit = Number.POSITIVE_INFINITY,
): Promise<{ path: string; size: number }> {
  // Refused before the first byte is read, and before directories are made for it.
  if (data.length !== undefined && data.length > limit) throw tooLarge(limit);
  const { root, staging, process } = directories;
  const target = writable(await locate(root, given, { createParents: true }), given);
  await mkdir(staging, { recursive: true, mode: 0o700 });
  const staged = path.join(staging, `${process}-${randomUUID()}`);
  try {
    const handle = await open(staged, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    const size = await fill(handle, data, limit).finally(() => handle.close());
    // Looked up again: receiving the data may have taken long, and commands run in the workspace.
    const parent = path.dirname(target.real);
    await confirm(root, parent, target.shown);
    await rename(staged, target.real).catch((error: unknown) => {
      if (hasCode(error, 'EISDIR')) throw notAFile(target.shown);
      if (hasCode(error, 'ENOTDIR')) throw notADirectory(path.posix.dirname(target.shown));
      throw error;
    });
    return { path: target.shown, size };
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}

function writable(place: Place, given: string): Place {
  if (given.endsWith('/')) throw invalidPath(given, 'it ends with / and so names a directory.');
  if (place.stats !== undefined && !place.stats.isFile()) throw notAFile(place.shown);
  return place;
}

async function fill(handle: FileHandle, data: Uint8Array | AsyncIterable<Uint8Array>, limit: number): Promise<number> {
  let size = 0;
  for await (const chunk of data instanceof Uint8Array ? [data] : data) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    await handle.writeFile(chunk);
  }
  // "Acknowledged means on disk": a run's journal must not name a file that a power cut took.
  await handle.sync();
  return size;
}

const tooLarge = (limit: number): ServiceError =>
  new ServiceError(413, 'file_too_large', `The file is larger than the ${limit} bytes that are allowed here.`);

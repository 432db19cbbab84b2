/** Writes a sandbox file to a staging file on the same file system and renames it, so that readers see all of it or nothing. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../errors.ts';
import { confirm, hasCode, invalidPath, locate, notADirectory, notAFile, type Place, statsNow } from './paths.ts';

/** `root` is the workspace, `staging` a directory next to it that commands and callers do not see. */
export interface WriteDirectories {
  root: string;
  staging: string;
  /** The prefix of the names of this process in `staging`. */
  process: string;
}

/** Bytes that arrive in parts; `length` is their total number, if known. */
export type ComingBytes = AsyncIterable<Uint8Array> & { readonly length?: number };

/**
 * Writes `data` to a path and creates missing directories. Throws `file_too_large` (413) above `limit` bytes.
 * @param mode the permissions of the file
 */
export async function writeFile(
  directories: WriteDirectories,
  input: string,
  data: Uint8Array | ComingBytes,
  limit = Number.POSITIVE_INFINITY,
  mode = 0o600,
): Promise<{ path: string; size: number }> {
  // Refused before the first byte is read.
  if (data.length !== undefined && data.length > limit) throw tooLarge(limit);
  if (input.endsWith('/')) throw invalidPath(input, 'it ends with /, so it is a directory.');
  const { root, staging, process } = directories;
  const found = writable(await locate(root, input, { allowMissing: true }));
  await mkdir(staging, { recursive: true, mode: 0o700 });
  const stagedPath = path.join(staging, `${process}-${randomUUID()}`);
  try {
    const handle = await open(stagedPath, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
    const size = await fill(handle, data, limit).finally(() => handle.close());
    // Directories are created only now, when the data has arrived.
    const hasParent = statsNow(path.dirname(found.realPath)) !== undefined;
    const target = hasParent ? found : writable(await locate(root, input, { createParents: true }));
    // Receiving the data can take long, and commands can change the workspace.
    await confirm(root, path.dirname(target.realPath), target.displayPath);
    await rename(stagedPath, target.realPath).catch((error: unknown) => {
      throw renameFailure(error, target);
    });
    return { path: target.displayPath, size };
  } catch (error) {
    await rm(stagedPath, { force: true });
    throw error;
  }
}

/** Why a new file could not be moved to its place. */
export function renameFailure(error: unknown, { displayPath }: Place): unknown {
  if (hasCode(error, 'EISDIR')) return notAFile(displayPath);
  if (hasCode(error, 'ENOTDIR')) return notADirectory(path.posix.dirname(displayPath));
  return error;
}

/** The place, if a file can be written there. @throws ServiceError `not_a_file` */
export function writable(place: Place): Place {
  if (place.stats !== undefined && !place.stats.isFile()) throw notAFile(place.displayPath);
  return place;
}

async function fill(handle: FileHandle, data: Uint8Array | AsyncIterable<Uint8Array>, limit: number): Promise<number> {
  let size = 0;
  for await (const chunk of data instanceof Uint8Array ? [data] : data) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    await handle.writeFile(chunk);
  }
  // "Acknowledged means on disk": a run's journal must not refer to a file that was lost in a power failure.
  await handle.sync();
  return size;
}

export const tooLarge = (limit: number): ServiceError =>
  new ServiceError(413, 'file_too_large', `The file is larger than the allowed ${limit} bytes.`);

/**
 * The temporary folder in which a backup is created, next to its target: for the copy of the database and the incomplete backup. If a
 * process is killed, its folder remains until the next backup to the same place removes it.
 */
import { lstat, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { takeLock } from '../../base/lock-file.ts';
import { writeFailure } from '../../base/write-failure.ts';

const prefix = '.aops-backup-';
/** A process updates its folder more often than this, unless checking a large database blocks it. */
const staleMilliseconds = 600_000;

export interface WorkFolder {
  readonly path: string;
  /** Removes the folder. */
  end(): Promise<void>;
}

/** Creates a folder, and removes those that killed processes of the same user have left. @throws AopsError `directory_not_found`, `not_writable` */
export async function makeWorkFolder(parent: string, clock: Clock): Promise<WorkFolder> {
  const folder = await createFolder(parent);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const unlock = await takeLock(path.join(folder, 'lock'), { staleMilliseconds });
    await sweep(folder, clock);
    return {
      path: folder,
      end: async () => {
        unlock?.();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw writeFailure(error, folder);
  }
}

async function createFolder(parent: string): Promise<string> {
  try {
    return await mkdtemp(path.join(await realpath(parent), prefix));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw writeFailure(error, parent);
    throw new AopsError(`There is no directory ${parent}.`, {
      code: 'directory_not_found',
      exit: exitCodes.usage,
      hint: 'Create it first.',
    });
  }
}

/** Removes abandoned folders. Failures are ignored, because the next backup tries again. */
async function sweep(own: string, clock: Clock): Promise<void> {
  const parent = path.dirname(own);
  const { uid } = await lstat(own);
  for (const name of await readdir(parent).catch(() => [])) {
    const other = path.join(parent, name);
    if (!name.startsWith(prefix) || other === own) continue;
    try {
      const stats = await lstat(other);
      // In a shared place, only folders that no other user can have created or can change.
      const isOurs = stats.isDirectory() && stats.uid === uid && (stats.mode & 0o022) === 0;
      if (isOurs && clock.now() - (await lastUsedAt(other)) > staleMilliseconds) await rm(other, { recursive: true, force: true });
    } catch {
      // The folder is already gone or cannot be removed.
    }
  }
}

/** The time of the last change, in milliseconds since the epoch. */
async function lastUsedAt(folder: string): Promise<number> {
  const places = [folder, ...(await readdir(folder)).map((name) => path.join(folder, name))];
  return Math.max(...(await Promise.all(places.map((place) => lstat(place)))).map(({ mtimeMs }) => mtimeMs));
}

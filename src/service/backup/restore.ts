/**
 * Restores a backup into a data directory. Everything is unpacked and checked in a folder of its own inside the directory, and then
 * moved into place, the database last: only once the database is there can a service start on the directory.
 */
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { makeDataDirectory, notEmptyDirectory } from '../../base/data-directory.ts';
import { takeLock, type Unlock } from '../../base/lock-file.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { hasCode } from '../sandbox/paths.ts';
import { type BackupInfo, databaseName, keyNames } from './format.ts';
import { unfinishedRestore } from './problems.ts';
import type { ReadProgress } from './progress.ts';
import { readBackup } from './read.ts';
import { restoringFolder } from './unfinished.ts';

const unpackedFolder = 'unpacked';
/** In the order in which they are moved into place. */
const parts: readonly string[] = ['sandboxes', 'files', ...keyNames, databaseName];
/** What file systems put at the top of a disk, and what a start that was refused leaves behind. */
const unimportant = ['lost+found', '.DS_Store', 'service.log', 'service.log.1'];
/** A lock is refreshed more often than this; an older one was left by a process that was killed. */
const lockTimes = { staleMilliseconds: 5_000, waitMilliseconds: 7_000 };
/** How many times this restore tries again because another one ended at the moment when it began. */
const maxAttempts = 10;

/**
 * Restores the backup whose bytes `source` yields. If it fails or is killed, nothing is left that looks like a data directory.
 * @throws AopsError `data_directory_not_empty`, `restore_unfinished` while another restore is in progress, and the errors of `readBackup`
 */
export async function restoreBackup(
  source: AsyncIterable<Uint8Array>,
  dataDirectory: string,
  progress: ReadProgress,
  signal: AbortSignal,
): Promise<BackupInfo> {
  const createdFolders = new Set<string>();
  const unlock = await claim(dataDirectory, createdFolders, signal);
  const folder = path.join(dataDirectory, restoringFolder);
  const unpackFolder = path.join(folder, unpackedFolder);
  const placedNames: string[] = [];
  try {
    // What a killed restore has left behind is only certain now that no other restore is in progress.
    const remainingNames = await remainsOfRestore(dataDirectory);
    for (const place of [unpackFolder, ...remainingNames.map((name) => path.join(dataDirectory, name))])
      await rm(place, { recursive: true, force: true });
    await mkdir(unpackFolder, { mode: 0o700 });
    const info = await readBackup(source, unpackFolder, progress, signal);
    for (const name of [...keyNames, databaseName]) await flush(path.join(unpackFolder, name));
    signal.throwIfAborted();
    for (const name of parts) {
      if (!existsSync(path.join(unpackFolder, name))) continue;
      if (existsSync(path.join(dataDirectory, name))) throw notEmptyDirectory(dataDirectory, 'A restore');
      await rename(path.join(unpackFolder, name), path.join(dataDirectory, name));
      placedNames.push(name);
    }
    await flush(dataDirectory);
    return info;
  } catch (error) {
    for (const name of placedNames.reverse()) await rm(path.join(dataDirectory, name), { recursive: true, force: true });
    throw error;
  } finally {
    await rm(unpackFolder, { recursive: true, force: true });
    unlock();
    // These are not removed if they contain anything, such as the lock of another restore.
    for (const place of [folder, ...createdFolders]) await rmdir(place).catch(() => undefined);
  }
}

/**
 * Creates the directory if necessary, and takes the lock in it. A restore that was killed or that ends at this moment does not prevent it.
 * @param createdFolders receives the folders that were created, the innermost first
 */
async function claim(dataDirectory: string, createdFolders: Set<string>, signal: AbortSignal): Promise<Unlock> {
  const folder = path.join(dataDirectory, restoringFolder);
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    for (const place of missingFolders(dataDirectory)) createdFolders.add(place);
    await makeDataDirectory(dataDirectory);
    try {
      await remainsOfRestore(dataDirectory);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const unlock = await takeLock(path.join(folder, 'lock'), { ...lockTimes, signal });
      if (unlock === undefined) break;
      return unlock;
    } catch (error) {
      // Another restore has just ended, and removed the folder.
      if (!hasCode(error, 'ENOENT')) throw writeFailure(error, folder);
    }
  }
  throw unfinishedRestore(dataDirectory);
}

/** The folders of a path that do not exist, the innermost first. */
function missingFolders(place: string): string[] {
  return existsSync(place) ? [] : [place, ...missingFolders(path.dirname(place))];
}

/** What a restore that was not finished has put into the directory. @throws AopsError `data_directory_not_empty` for anything else */
async function remainsOfRestore(dataDirectory: string): Promise<string[]> {
  const names = (await readdir(dataDirectory)).filter((name) => !unimportant.includes(name));
  const isUnfinished = names.includes(restoringFolder) && !names.includes(databaseName);
  const remainingNames = isUnfinished ? names.filter((name) => parts.includes(name)) : [];
  if (names.some((name) => name !== restoringFolder && !remainingNames.includes(name))) throw notEmptyDirectory(dataDirectory, 'A restore');
  return remainingNames;
}

/** Waits until a file or folder is on the disk, if it exists. */
async function flush(place: string): Promise<void> {
  if (!existsSync(place)) return;
  const handle = await open(place, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

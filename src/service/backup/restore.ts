/**
 * Puts a backup into a data directory. Everything is unpacked and checked in a folder of its own in it, and then takes its place,
 * the database last: with it, and not before, the directory is one that a service can be started on.
 */
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { makeDataDirectory } from '../../base/data-directory.ts';
import { takeLock } from '../../base/lock-file.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { type BackupInfo, databaseName, keyNames } from './format.ts';
import { notEmpty, unfinishedRestore } from './problems.ts';
import type { ReadProgress } from './progress.ts';
import { readBackup } from './read.ts';
import { restoringFolder } from './unfinished.ts';

const unpackedFolder = 'unpacked';
/** In the order in which they take their places. */
const parts = ['sandboxes', 'files', ...keyNames, databaseName] as const;
/** What file systems put at the top of a disk, and what a start that was refused has left. */
const unimportant = ['lost+found', '.DS_Store', 'service.log', 'service.log.1'];
/** A lock is refreshed more often than this; one that grew older was left by a process that was killed. */
const lockTimes = { staleMilliseconds: 5_000, waitMilliseconds: 7_000 };

/**
 * Restores the backup that `source` is. When it fails, or is killed, nothing is left that could be taken for a data directory.
 * @throws AopsError `data_directory_not_empty`, `restore_unfinished` while another one works on it, and what reading throws
 */
export async function restoreBackup(
  source: AsyncIterable<Uint8Array>,
  dataDirectory: string,
  progress: ReadProgress,
  signal: AbortSignal,
): Promise<BackupInfo> {
  const { made, left } = await prepared(dataDirectory);
  const folder = path.join(dataDirectory, restoringFolder);
  const unlock = await takeLock(path.join(folder, 'lock'), { ...lockTimes, signal }).catch((error: unknown) => {
    throw writeFailure(error, folder);
  });
  if (unlock === undefined) throw unfinishedRestore(dataDirectory);
  const placed: string[] = [];
  try {
    // What one that was killed has left.
    const unpacked = path.join(folder, unpackedFolder);
    for (const place of [unpacked, ...left.map((name) => path.join(dataDirectory, name))])
      await rm(place, { recursive: true, force: true });
    await mkdir(unpacked, { mode: 0o700 });
    const info = await readBackup(source, unpacked, progress, signal);
    for (const name of [...keyNames, databaseName]) await onDisk(path.join(unpacked, name));
    signal.throwIfAborted();
    for (const name of parts) {
      if (!existsSync(path.join(unpacked, name))) continue;
      if (existsSync(path.join(dataDirectory, name))) throw notEmpty(dataDirectory);
      await rename(path.join(unpacked, name), path.join(dataDirectory, name));
      placed.push(name);
    }
    await onDisk(dataDirectory);
    return info;
  } catch (error) {
    for (const name of placed.reverse()) await rm(path.join(dataDirectory, name), { recursive: true, force: true });
    throw error;
  } finally {
    unlock();
    await rm(folder, { recursive: true, force: true });
    // Only folders that were made for this, and are empty again.
    for (const place of made) await rmdir(place).catch(() => undefined);
  }
}

/** The folders of a path that are not there, the innermost first. */
function missingFolders(place: string): string[] {
  return existsSync(place) ? [] : [place, ...missingFolders(path.dirname(place))];
}

/** Makes the directory, or makes sure that it is empty but for what a restore that was killed has left. */
async function prepared(dataDirectory: string): Promise<{ made: string[]; left: string[] }> {
  const made = missingFolders(dataDirectory);
  await makeDataDirectory(dataDirectory);
  try {
    const there = (await readdir(dataDirectory)).filter((name) => !unimportant.includes(name));
    const isUnfinished = there.includes(restoringFolder) && !there.includes(databaseName);
    const left = isUnfinished ? there.filter((name) => (parts as readonly string[]).includes(name)) : [];
    if (there.some((name) => name !== restoringFolder && !left.includes(name))) throw notEmpty(dataDirectory);
    await mkdir(path.join(dataDirectory, restoringFolder), { recursive: true, mode: 0o700 });
    return { made, left };
  } catch (error) {
    throw writeFailure(error, dataDirectory);
  }
}

/** Waits until a file or folder is on the disk. */
async function onDisk(place: string): Promise<void> {
  if (!existsSync(place)) return;
  const handle = await open(place, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

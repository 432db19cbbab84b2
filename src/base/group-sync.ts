/**
 * Makes sure that many new files are on the disk. Syncing one takes the disk about a millisecond, so for a group of them the whole
 * file system is synced once instead, where that is possible. Node has no function for it, but every Linux has a program (`sync -f`).
 */
import { open, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { syncFileSystem } from './sync-shell.ts';

/** From this number of files on, one sync of the file system is faster. */
const minGroup = 48;
/** Files that are synced at the same time: Node has four threads for it. */
const maxParallelSyncs = 4;

/**
 * Waits until files that were written and closed are on the disk.
 * @throws NodeJS.ErrnoException when the disk failed
 */
export async function syncFiles(files: readonly string[]): Promise<void> {
  if (files.length >= minGroup && platform() === 'linux' && (await syncFileSystems(files))) return;
  const queue = files.values();
  await Promise.all(
    Array.from({ length: maxParallelSyncs }, async () => {
      for (const file of queue) await syncFile(file);
    }),
  );
}

/** Syncs the file systems that contain the files: a folder may be the root of another one. Returns whether that was possible. */
async function syncFileSystems(files: readonly string[]): Promise<boolean> {
  const folderByDevice = new Map<number, string>();
  for (const folder of new Set(files.map((file) => path.dirname(file)))) folderByDevice.set((await stat(folder)).dev, folder);
  const results = await Promise.all(Array.from(folderByDevice.values(), syncFileSystem));
  return results.every(Boolean);
}

async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

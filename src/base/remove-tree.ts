/** Removing a folder with everything in it, whatever modes those have given it who filled it. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';

/**
 * Nothing happens when there is none. Folders that may not be written to, such as those of a cache of modules, are opened first:
 * root alone could remove what is in them.
 * @throws the system's error, such as EACCES for what belongs to somebody else
 */
export async function removeTree(place: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  try {
    await rm(place, options);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    await openFolders(place).catch(() => undefined);
    await rm(place, options);
  }
}

async function openFolders(place: string): Promise<void> {
  const { mode } = await lstat(place);
  if ((mode & 0o700) !== 0o700) await chmod(place, mode | 0o700);
  for (const entry of await readdir(place, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(path.join(place, entry.name));
}

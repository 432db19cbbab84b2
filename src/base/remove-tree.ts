/** Removes a folder with everything in it, whatever the modes of its contents. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';

/**
 * Does nothing when the folder does not exist. Folders without write permission, such as those of a module cache, are made writable
 * first, because otherwise only root could remove their contents.
 * @throws the system's error, such as EACCES for another user's files
 */
export async function removeTree(place: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  try {
    await rm(place, options);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    await makeWritable(place).catch(() => undefined);
    await rm(place, options);
  }
}

async function makeWritable(place: string): Promise<void> {
  const { mode } = await lstat(place);
  if ((mode & 0o700) !== 0o700) await chmod(place, mode | 0o700);
  for (const entry of await readdir(place, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(path.join(place, entry.name));
}

/** Creates files that other processes can read as soon as they see them, and that survive a power failure. */
import { randomUUID } from 'node:crypto';
import { link, lstat, open, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { canNotLink } from './hard-links.ts';
import { syncFolder } from './sync-folder.ts';

/**
 * Creates a file with all of its content, or not at all. Returns false if it exists.
 * @param mode that of the file
 * @throws the system's error
 */
export async function createFile(file: string, text: string, mode: number): Promise<boolean> {
  // Its folder may be read-only by now.
  if (await exists(file)) return false;
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const isNew = await isCreated(
      link(temporary, file).catch((error: NodeJS.ErrnoException) => {
        if (!canNotLink(error)) throw error;
        return writeFile(file, text, { flag: 'wx', mode, flush: true });
      }),
    );
    await syncFolder(path.dirname(file));
    return isNew;
  } finally {
    await rm(temporary, { force: true });
  }
}

const exists = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

const isCreated = (creation: Promise<void>): Promise<boolean> =>
  creation.then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );

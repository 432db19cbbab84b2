/** Reads folders that the user names. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { fileProblem } from './body.ts';

/** The entries of a folder, sorted by name. @param folder absolute @throws UsageError if it cannot be read */
export async function folderEntries(folder: string, cwd: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(fileProblem(path.relative(cwd, folder) || '.', error));
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Creates a folder at a path that the user chose, together with its parents. Node's `recursive` option loops forever where
 * the system reports ENOENT below an existing folder, as Linux does in /proc.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * An existing folder is left unchanged.
 * @param mode of the folders that are created, before the umask applies
 * @throws the system's error, such as EACCES, ENOTDIR, or EEXIST for something that is not a folder
 */
export function makeFolders(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const parent = path.dirname(folder);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync(parent)) {
      makeFolders(parent, mode);
      makeFolders(folder, mode);
    } else if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Making a folder whose place somebody has named, with those above it. The `recursive` of Node tries for ever where the system
 * says ENOENT below a folder that is there, as that of Linux does in /proc.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * One that is there stays as it is.
 * @param mode of those that are made, less what the umask takes
 * @throws the system's error, such as EACCES, ENOTDIR, or EEXIST for what is no folder
 */
export function makeFolders(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const above = path.dirname(folder);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync(above)) {
      makeFolders(above, mode);
      makeFolders(folder, mode);
    } else if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

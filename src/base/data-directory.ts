/** Creates the directory in which a local service stores its data. */
import { UsageError } from './errors.ts';
import { makeFolders } from './make-folders.ts';

const reasons: Record<string, string> = {
  EEXIST: 'a file with that name already exists',
  ENOTDIR: 'part of the path is a file',
  ENOENT: 'a directory cannot be created there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
};

/**
 * An existing directory keeps its mode, because it may contain other things; a new one is accessible to its owner only.
 * @throws UsageError `data_directory_unusable`
 */
export async function makeDataDirectory(directory: string): Promise<void> {
  try {
    makeFolders(directory, 0o700);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = Object.hasOwn(reasons, code) ? reasons[code] : code || String(error);
    throw new UsageError(
      `Data cannot be stored in ${directory}: ${reason}.`,
      'Choose another directory with --data-dir.',
      'data_directory_unusable',
    );
  }
}

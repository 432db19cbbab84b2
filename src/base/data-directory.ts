/** Making the folder that a service keeps its data in. */
import { UsageError } from './errors.ts';
import { makeFolders } from './make-folders.ts';

const reasons: Record<string, string> = {
  EEXIST: 'there is a file of that name',
  ENOTDIR: 'a part of its path is a file',
  ENOENT: 'no folder can be made there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
};

/**
 * A directory that was there keeps its mode, it may hold other things; a new one is its owner's alone.
 * @throws UsageError `data_directory_unusable`
 */
export async function makeDataDirectory(directory: string): Promise<void> {
  try {
    makeFolders(directory, 0o700);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const why = Object.hasOwn(reasons, code) ? reasons[code] : code || String(error);
    throw new UsageError(
      `Data cannot be kept in ${directory}: ${why}.`,
      'Choose another directory with --data-dir.',
      'data_directory_unusable',
    );
  }
}

/** The directory in which a local service stores its data. */
import { AopsError, exitCodes, UsageError } from './errors.ts';
import { makeFolders } from './make-folders.ts';

const reasons: Record<string, string> = {
  EEXIST: 'a file with that name already exists',
  ENOTDIR: 'part of the path is a file',
  ENOENT: 'a directory cannot be created there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
};

/** The error for a directory in which no service has stored anything. */
export const noData = (directory: string): AopsError =>
  new AopsError(`${directory} does not contain the data of a service.`, {
    code: 'no_data',
    exit: exitCodes.notFound,
    hint: 'Specify the data directory of the service with --data-dir.',
  });

/** @param command what does not overwrite files, such as `An import` */
export const notEmptyDirectory = (directory: string, command: 'A restore' | 'An import'): AopsError =>
  new AopsError(`The data directory ${directory} is not empty. ${command} never overwrites files.`, {
    code: 'data_directory_not_empty',
    exit: exitCodes.conflict,
    hint: `Move it elsewhere, or ${command === 'A restore' ? 'restore' : 'import'} into another directory with --data-dir.`,
  });

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

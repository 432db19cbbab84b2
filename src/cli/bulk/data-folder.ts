/** Where the progress of bulk work is stored that has no file of its own, such as rows from standard input. */
import path from 'node:path';
import { makeFolders } from '../../base/make-folders.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../kit/context.ts';

/** Creates the folder, except for a dry run, and returns its path. @throws AopsError `not_writable`, `disk_full` */
export function bulkFolder({ paths, flags }: Pick<Context, 'paths' | 'flags'>): string {
  const folder = path.join(paths.data, 'bulk');
  try {
    if (!flags.dryRun) makeFolders(folder, 0o700);
  } catch (error) {
    throw writeFailure(error, folder, 'AOPS_DATA_DIR');
  }
  return folder;
}

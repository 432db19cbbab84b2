/** The errors of backups, and of the directories that they are restored into. */
import { AopsError, exitCodes } from '../../base/errors.ts';

/** A name from a backup, for a message. */
export const quoteName = (name: string): string => JSON.stringify(name.slice(0, 200));

/** @param reason a clause about the file, without a capital letter and a full stop */
export const damagedBackup = (reason: string, cause?: unknown): AopsError =>
  new AopsError(`The backup cannot be used: ${reason}.`, {
    code: 'backup_damaged',
    exit: exitCodes.failure,
    hint: 'Nothing was restored. Use another copy of it, or an earlier backup.',
    ...(cause === undefined ? {} : { cause }),
  });

/** @param feature the part of it that this version does not support */
export const newerBackup = (version: string, feature: string): AopsError =>
  new AopsError(`The backup was written by a newer version of aops, ${version} (it has ${feature}).`, {
    code: 'backup_newer',
    exit: exitCodes.conflict,
    hint: 'Upgrade aops, then restore it.',
  });

export const tooLarge = (entries: number): AopsError =>
  new AopsError(
    `The data directory has more than ${entries.toLocaleString('en-US')} files and folders, which is more than a backup can hold.`,
    {
      code: 'backup_too_large',
      exit: exitCodes.failure,
      hint: 'Remove files of old runs with --sandbox-retention, or copy the data directory while the service is stopped.',
    },
  );

export const nothingToBackUp = (dataDirectory: string): AopsError =>
  new AopsError(`${dataDirectory} does not contain the data of a service.`, {
    code: 'no_data',
    exit: exitCodes.notFound,
    hint: 'Specify the data directory of the service with --data-dir.',
  });

export const notEmpty = (dataDirectory: string): AopsError =>
  new AopsError(`The data directory ${dataDirectory} is not empty. A restore never overwrites files.`, {
    code: 'data_directory_not_empty',
    exit: exitCodes.conflict,
    hint: 'Move it elsewhere, or restore into another directory with --data-dir.',
  });

export const unfinishedRestore = (dataDirectory: string): AopsError =>
  new AopsError(`A restore into ${dataDirectory} is in progress or was not finished.`, {
    code: 'restore_unfinished',
    exit: exitCodes.conflict,
    hint: 'Wait until it has finished, or restore the backup again.',
  });

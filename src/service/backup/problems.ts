/** What can be wrong with a backup, and with where it is to go. */
import { AopsError, exitCodes } from '../../base/errors.ts';

/** A name out of a backup, for a message. */
export const shown = (name: string): string => JSON.stringify(name.slice(0, 200));

/** @param why half a sentence about the file */
export const damaged = (why: string, cause?: unknown): AopsError =>
  new AopsError(`The backup cannot be used: ${why}.`, {
    code: 'backup_damaged',
    exit: exitCodes.failure,
    hint: 'Nothing was restored. Use another copy of it, or an earlier backup.',
    ...(cause === undefined ? {} : { cause }),
  });

/** @param what it has that this version does not know */
export const newerBackup = (version: string, what: string): AopsError =>
  new AopsError(`The backup was written by a newer version of aops, ${version} (it has ${what}).`, {
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
      hint: 'Let files of old runs go with --sandbox-retention, or copy the data directory while the service is stopped.',
    },
  );

export const nothingToBackUp = (dataDirectory: string): AopsError =>
  new AopsError(`There is no data of a service in ${dataDirectory}.`, {
    code: 'no_data',
    exit: exitCodes.notFound,
    hint: 'Name the data directory of the service with --data-dir.',
  });

export const notEmpty = (dataDirectory: string): AopsError =>
  new AopsError(`The data directory ${dataDirectory} is not empty; nothing is restored over what is there.`, {
    code: 'data_directory_not_empty',
    exit: exitCodes.conflict,
    hint: 'Move it away, or restore into another one with --data-dir.',
  });

export const unfinishedRestore = (dataDirectory: string): AopsError =>
  new AopsError(`A backup is being restored into ${dataDirectory}, or that was not finished.`, {
    code: 'restore_unfinished',
    exit: exitCodes.conflict,
    hint: 'Wait for it, or restore the backup again.',
  });

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

export const tooLarge = (entries: number): AopsError =>
  new AopsError(
    `The data directory has more than ${entries.toLocaleString('en-US')} files and folders, which is more than a backup can hold.`,
    {
      code: 'backup_too_large',
      exit: exitCodes.failure,
      hint: 'Remove files of old runs with --sandbox-retention, or copy the data directory while the service is stopped.',
    },
  );

export const unfinishedRestore = (dataDirectory: string): AopsError =>
  new AopsError(`A restore into ${dataDirectory} is in progress or was not finished.`, {
    code: 'restore_unfinished',
    exit: exitCodes.conflict,
    hint: 'Wait until it has finished, or restore the backup again.',
  });

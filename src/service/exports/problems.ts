/** The errors of exports and imports. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';

/** @param name the file of the export. @param problem a clause about it, such as `is missing` */
export const damagedExport = (name: string, problem = 'is damaged'): AopsError =>
  new AopsError(`The export cannot be used: ${name} ${problem}.`, {
    code: 'export_damaged',
    exit: exitCodes.failure,
    hint: 'Copy the export again, or repeat it.',
  });

export const incompleteExport = (folder: string): AopsError =>
  new AopsError(`The export in ${folder} is not complete.`, {
    code: 'export_incomplete',
    exit: exitCodes.failure,
    hint: 'Complete it by running the same `aops local export` again.',
  });

export const noExport = (folder: string): AopsError =>
  new UsageError(`${folder} does not contain an export.`, 'Specify the folder that `aops local export` wrote.', 'export_missing');

export const existingExport = (folder: string): AopsError =>
  new AopsError(`${folder} already contains a complete export.`, {
    code: 'export_exists',
    exit: exitCodes.conflict,
    hint: 'Export into another folder, or remove this one.',
  });

export const foreignFolder = (folder: string, name: string): AopsError =>
  new AopsError(`${folder} is not empty: it contains ${JSON.stringify(name)}. An export never overwrites files.`, {
    code: 'folder_not_empty',
    exit: exitCodes.conflict,
    hint: 'Export into a new folder.',
  });

export const busyFolder = (folder: string): AopsError =>
  new AopsError(`Another process is exporting into ${folder}.`, {
    code: 'export_running',
    exit: exitCodes.conflict,
    hint: 'Wait until it has ended.',
  });

export const outdatedExport = (): AopsError =>
  new AopsError('The service was used while its data was exported, so the export is not usable.', {
    code: 'export_outdated',
    exit: exitCodes.conflict,
    hint: 'Stop the service, and run the command again. It starts from the beginning.',
  });

export const otherImport = (): AopsError =>
  new AopsError('The target contains the beginning of the import of another export.', {
    code: 'import_differs',
    exit: exitCodes.conflict,
    hint: 'Continue that import, or import into another database or data directory.',
  });

/** @param name in the data directory @param problem a clause about it */
export const missingFile = (name: string, problem: string): AopsError =>
  new AopsError(`The data of the service is not complete: ${name} ${problem}.`, {
    code: 'export_file_missing',
    exit: exitCodes.failure,
    hint: 'Specify the file store of the nodes with --file-store, or restore the file. With --skip-missing, such files are left out and reported.',
  });

export const otherKey = (source: string): AopsError =>
  new AopsError(`${source} does not contain the key with which the secrets in the export were encrypted.`, {
    code: 'secret_key_mismatch',
    exit: exitCodes.failure,
    hint: keyAdvice,
  });

export const missingKey = (): AopsError =>
  new UsageError('The import needs the key with which the secrets in the export were encrypted.', keyAdvice, 'secret_key_required');

const keyAdvice =
  'Pass the key of the exported service with --secret-key-file or AOPS_SECRET_KEY: `secrets.key` in its data directory, or the key that its nodes share.';

/** @param what such as `the table runs` */
export const faultyImport = (what: string): AopsError =>
  new AopsError(`The import is not complete: ${what} differs from the export.`, {
    code: 'import_faulty',
    exit: exitCodes.failure,
    hint: 'Import into a new database or data directory. If it happens again, please report it.',
  });

export const unreadableRows = (table: string, expected: number, found: number): AopsError =>
  new AopsError(`The table ${table} has ${expected} rows, but ${found} could be read.`, {
    code: 'data_directory_damaged',
    exit: exitCodes.failure,
    hint: 'The database is damaged. Restore a backup from before the damage.',
  });

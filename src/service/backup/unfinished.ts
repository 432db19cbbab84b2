/** A data directory with an unfinished restore is incomplete, so no service may start on it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databaseName } from './format.ts';
import { unfinishedRestore } from './problems.ts';

/** Where a backup is unpacked: inside the directory, which may be on a separate disk. */
export const restoringFolder = 'restoring';

/** @throws AopsError `restore_unfinished` */
export function refuseUnfinished(dataDirectory: string): void {
  if (existsSync(join(dataDirectory, restoringFolder)) && !existsSync(join(dataDirectory, databaseName)))
    throw unfinishedRestore(dataDirectory);
}

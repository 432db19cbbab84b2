/** A data directory that a backup is being restored into, or was not to the end, is none yet: no service may begin in it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databaseName } from './format.ts';
import { unfinishedRestore } from './problems.ts';

/** Where it is unpacked, in the directory itself, which may be a disk of its own. */
export const restoringFolder = 'restoring';

/** @throws AopsError `restore_unfinished` */
export function refuseUnfinished(dataDirectory: string): void {
  if (existsSync(join(dataDirectory, restoringFolder)) && !existsSync(join(dataDirectory, databaseName)))
    throw unfinishedRestore(dataDirectory);
}

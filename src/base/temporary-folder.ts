/** Creates folders for temporary files. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AopsError } from './errors.ts';
import { isAbsent } from './read-failure.ts';
import { writeFailure } from './write-failure.ts';

/**
 * Creates an empty folder that only this user can read. @param prefix of its name @param parent of the folder
 * @throws AopsError if the system refuses it, for example because the disk is full
 */
export async function makeTemporaryFolder(prefix: string, parent = tmpdir()): Promise<string> {
  try {
    return await mkdtemp(path.join(parent, prefix));
  } catch (error) {
    const failure = writeFailure(error, parent);
    if (!(failure instanceof AopsError)) throw failure;
    const { code, exit } = failure;
    const reason = isAbsent(error) ? `${parent} does not exist.` : failure.message;
    const hint = 'Set TMPDIR to a folder in which you can create files.';
    throw new AopsError(`No temporary files can be created. ${reason}`, { code, exit, hint, cause: error });
  }
}

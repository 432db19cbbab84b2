/** Reads and replaces the configuration file of another program. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { makeFolders } from '../../../base/make-folders.ts';
import { isAbsent, readFailure } from '../../../base/read-failure.ts';
import { writeFailure } from '../../../base/write-failure.ts';
import { decodeText } from '../../../cli/input/body.ts';

/** A file as it was read. */
export interface ReadFile {
  /** The file itself, if the path is a symbolic link. */
  path: string;
  /** Undefined if it does not exist. */
  bytes: Buffer | undefined;
  /** Without a byte order mark. */
  text: string;
}

/** @throws AopsError when it cannot be read, UsageError when it is not UTF-8 */
export function readConfig(file: string): ReadFile {
  try {
    const target = realpathSync(file);
    const bytes = readFileSync(target);
    return { path: target, bytes, text: decodeText(bytes, file) };
  } catch (error) {
    if (isAbsent(error)) return { path: file, bytes: undefined, text: '' };
    throw error instanceof AopsError ? error : readFailure(error, file);
  }
}

/**
 * Replaces the file atomically, and stores what it contained next to it. Returns the path of that copy, if there was a file.
 * @param stamp distinguishes this copy from earlier ones
 * @throws AopsError `config_changed_meanwhile` if another program has changed the file since it was read
 */
export function replaceConfig(before: ReadFile, text: string, stamp: string): string | undefined {
  const { path: file, bytes } = before;
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  let backup: string | undefined;
  try {
    if (bytes === undefined) makeFolders(path.dirname(file), 0o755);
    const mark = bytes?.subarray(0, 3).equals(byteOrderMark) ? byteOrderMark : Buffer.alloc(0);
    // Only the user can read a new file: its owner may add secrets to it later.
    writeFileSync(temporary, Buffer.concat([mark, Buffer.from(text)]), { flag: 'wx', mode: 0o600 });
    const handle = openSync(temporary, 'r+');
    fsyncSync(handle);
    closeSync(handle);
    if (bytes !== undefined) {
      const { mode } = statSync(file);
      const copy = `${file}.${stamp}.bak`;
      copyFileSync(file, copy, constants.COPYFILE_EXCL);
      backup = copy;
      chmodSync(temporary, mode & 0o777);
    }
    refuseChanged(file, bytes);
    renameSync(temporary, file);
    return backup;
  } catch (error) {
    rmSync(temporary, { force: true });
    if (backup !== undefined) rmSync(backup, { force: true });
    throw writeFailure(error, file);
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** Clients write their files too, some of them often. */
function refuseChanged(file: string, bytes: Buffer | undefined): void {
  const now = readConfig(file).bytes;
  if (bytes === undefined ? now === undefined : now?.equals(bytes)) return;
  throw new AopsError(`${file} was changed by another program in the meantime, so it was left unchanged.`, {
    code: 'config_changed_meanwhile',
    exit: exitCodes.conflict,
    hint: 'Run the command again. If it happens again, quit the client first.',
  });
}

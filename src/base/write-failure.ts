/** Explains why the file system refused to write a file. */
import { capitalize } from './capitalize.ts';
import { AopsError, exitCodes } from './errors.ts';

interface Problem {
  message(file: string): string;
  /** @param choose how to name another place: `choose`, or `set VARIABLE to` */
  hint(choose: string): string;
}

const noAccess: Problem = {
  message: (file) => `You are not allowed to write ${file}.`,
  hint: (choose) => `Check the permissions of its folder, or ${choose} another one.`,
};
const notAFolder: Problem = {
  message: (file) => `${file} cannot be written, because a part of its path is not a folder.`,
  hint: (choose) => `${capitalize(choose)} another folder.`,
};
const elsewhere = (choose: string): string => `Free some space, or ${choose} a folder on another disk.`;

const problems: Record<string, Problem> = {
  ENOSPC: { message: (file) => `There is no space left on the disk to write ${file}.`, hint: elsewhere },
  EDQUOT: { message: (file) => `Your disk quota is used up, so ${file} cannot be written.`, hint: elsewhere },
  EFBIG: {
    message: (file) => `${file} is too large for its file system.`,
    hint: (choose) => `${capitalize(choose)} a folder on another disk.`,
  },
  EACCES: noAccess,
  EPERM: noAccess,
  EISDIR: { message: (file) => `${file} is a folder.`, hint: () => 'Move it away, or choose another name.' },
  ENOTDIR: notAFolder,
  EEXIST: notAFolder,
  EROFS: { message: (file) => `${file} is on a read-only disk.`, hint: (choose) => `${capitalize(choose)} another folder.` },
  ENAMETOOLONG: {
    message: (file) => `The path ${file} is too long for this system.`,
    hint: (choose) => `${capitalize(choose)} a folder with a shorter path.`,
  },
  EIO: { message: (file) => `The disk failed to write ${file}.`, hint: () => 'Check the disk.' },
  EMFILE: {
    message: (file) => `${file} cannot be written because this process has too many open files.`,
    hint: () => 'Raise the limit with `ulimit -n`.',
  },
  ENFILE: {
    message: (file) => `${file} cannot be written because the system has too many open files.`,
    hint: () => 'Close other programs and try again.',
  },
  ENOENT: {
    message: (file) => `The folder of ${file} no longer exists.`,
    hint: () => 'Another program removed it in the meantime. Run the command again.',
  },
};

/**
 * The error for a file that could not be written, explained where its code is a common one. Any other error is returned unchanged.
 * @param variable the environment variable that determines where the file is, if the user has not named it
 */
export function writeFailure(error: unknown, file: string, variable?: string): unknown {
  if (!(error instanceof Error) || error instanceof AopsError) return error;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // For a file, EEXIST means that there is one already, which callers explain themselves.
  const problem = syscall === undefined || (code === 'EEXIST' && syscall !== 'mkdir') ? undefined : problems[code];
  if (problem === undefined) return error;
  return new AopsError(problem.message(file), {
    code: code === 'ENOSPC' || code === 'EDQUOT' ? 'disk_full' : 'not_writable',
    exit: exitCodes.failure,
    hint: problem.hint(variable === undefined ? 'choose' : `set ${variable} to`),
    cause: error,
  });
}

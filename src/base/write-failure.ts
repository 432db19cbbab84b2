/** Explains why the file system refused to write a file. */
import { AopsError, exitCodes } from './errors.ts';

const problems: Record<string, { message: (file: string) => string; hint: string }> = {
  ENOSPC: {
    message: (file) => `There is no space left on the disk to write ${file}.`,
    hint: 'Free some space, or choose a folder on another disk.',
  },
  EDQUOT: {
    message: (file) => `Your disk quota is used up, so ${file} cannot be written.`,
    hint: 'Free some space, or choose a folder on another disk.',
  },
  EFBIG: { message: (file) => `${file} is too large for its file system.`, hint: 'Choose a folder on another disk.' },
  EACCES: {
    message: (file) => `You are not allowed to write ${file}.`,
    hint: 'Check the permissions of its folder, or choose another one.',
  },
  EPERM: {
    message: (file) => `You are not allowed to write ${file}.`,
    hint: 'Check the permissions of its folder, or choose another one.',
  },
  EISDIR: { message: (file) => `${file} is a folder.`, hint: 'Move it away, or choose another name.' },
  EROFS: { message: (file) => `${file} is on a read-only disk.`, hint: 'Choose another folder.' },
  ENAMETOOLONG: { message: (file) => `The path ${file} is too long for this system.`, hint: 'Choose a folder with a shorter path.' },
  EIO: { message: (file) => `The disk failed to write ${file}.`, hint: 'Check the disk.' },
  EMFILE: {
    message: (file) => `${file} cannot be written because this process has too many open files.`,
    hint: 'Raise the limit with `ulimit -n`.',
  },
  ENFILE: {
    message: (file) => `${file} cannot be written because the system has too many open files.`,
    hint: 'Close other programs and try again.',
  },
  ENOENT: {
    message: (file) => `The folder of ${file} no longer exists.`,
    hint: 'Another program removed it in the meantime. Run the command again.',
  },
};

/** The error for a file that could not be written, explained where its code is a common one. Any other error is returned unchanged. */
export function writeFailure(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof AopsError) return error;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const problem = syscall === undefined ? undefined : problems[code];
  if (problem === undefined) return error;
  return new AopsError(problem.message(file), {
    code: code === 'ENOSPC' || code === 'EDQUOT' ? 'disk_full' : 'not_writable',
    exit: exitCodes.failure,
    hint: problem.hint,
    cause: error,
  });
}

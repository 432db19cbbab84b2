/** What the file system says when it refuses to be written to, in words. */
import { AopsError, exitCodes } from './errors.ts';

const problems: Record<string, { message: (file: string) => string; hint: string }> = {
  ENOSPC: {
    message: (file) => `There is no space left for ${file}.`,
    hint: 'Make room on the disk, or choose a folder on another one.',
  },
  EDQUOT: {
    message: (file) => `Your disk quota leaves no space for ${file}.`,
    hint: 'Make room, or choose a folder on another disk.',
  },
  EFBIG: { message: (file) => `${file} is too large for its file system.`, hint: 'Choose a folder on another disk.' },
  EACCES: {
    message: (file) => `${file} may not be written.`,
    hint: 'Check the permissions of its folder, or choose another one.',
  },
  EPERM: {
    message: (file) => `${file} may not be written.`,
    hint: 'Check the permissions of its folder, or choose another one.',
  },
  EISDIR: { message: (file) => `${file} is a folder.`, hint: 'Move it away, or choose another name.' },
  EROFS: { message: (file) => `${file} is on a disk that is read-only.`, hint: 'Choose another folder.' },
  ENAMETOOLONG: { message: (file) => `The name ${file} is too long here.`, hint: 'Choose a folder with a shorter name.' },
  EIO: { message: (file) => `The disk failed to write ${file}.`, hint: 'Check the disk.' },
  EMFILE: { message: (file) => `There are too many open files to write ${file}.`, hint: 'Allow more with `ulimit -n`.' },
  ENFILE: { message: (file) => `There are too many open files to write ${file}.`, hint: 'Close other programs and try again.' },
  ENOENT: { message: (file) => `The folder of ${file} is gone.`, hint: 'Something else removed it meanwhile. Run the command again.' },
};

/** The failure to write a file, in words where its code is a usual one. Anything else comes back as it is. */
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

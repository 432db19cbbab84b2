/** What the file system says when a file of aops cannot be read: that is another thing than a file that is not there. */
import { AopsError, exitCodes } from './errors.ts';

/** Whether there is no such file: neither it nor, perhaps, the folder that it would be in. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/** The failure to read a file or folder that is there, such as one of another user. */
export function readFailure(error: unknown, file: string): AopsError {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  return new AopsError(`${file} cannot be read (${code}).`, {
    code: 'not_readable',
    exit: exitCodes.failure,
    hint: 'Check its owner and permissions, and those of its folder.',
    cause: error,
  });
}

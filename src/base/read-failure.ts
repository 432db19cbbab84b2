/** Errors from reading aops's own files: a file that cannot be read is not the same as a file that does not exist. */
import { AopsError, exitCodes } from './errors.ts';

/** Whether the error means that the file, or the folder it would be in, does not exist. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

/** The error for a file or folder that exists but cannot be read, such as another user's. */
export function readFailure(error: unknown, file: string): AopsError {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  return new AopsError(`${file} cannot be read (${code}).`, {
    code: 'not_readable',
    exit: exitCodes.failure,
    hint: 'Check its owner and permissions, and those of its folder.',
    cause: error,
  });
}

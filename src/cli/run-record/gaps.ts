/** Parts of a record that cannot be read are named in it; they are not errors. */
import { AopsError, exitCodes } from '../../base/errors.ts';

const gapCodes: readonly string[] = ['not_offered', 'too_many_files', 'too_deep', 'file_changed'];

/**
 * Whether an error means that the service does not have or offer something, or does not permit reading it. A network that fails and a
 * limit that is reached are errors, because the next attempt could succeed.
 */
export const isGap = (error: unknown): error is AopsError =>
  error instanceof AopsError &&
  (error.exit === exitCodes.notFound ||
    error.exit === exitCodes.forbidden ||
    error.code.startsWith('sandbox_') ||
    gapCodes.includes(error.code));

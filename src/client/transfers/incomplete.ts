/** The failure of a transfer of many files that stopped half-way. */
import { AopsError } from '../../base/errors.ts';

/**
 * The same failure, with what was done before it and how to go on.
 * @param state a sentence: how many files are where they should be
 */
export function incomplete(error: AopsError, state: string, onward: string): AopsError {
  return new AopsError(`${error.message} ${state}`, {
    code: error.code,
    exit: error.exit,
    hint: error.hint === undefined ? onward : `${error.hint} ${onward}`,
    details: error.details,
    cause: error,
  });
}

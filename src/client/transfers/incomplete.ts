/** The error of a transfer of many files that stopped halfway. */
import { AopsError } from '../../base/errors.ts';

/**
 * The same error, extended by what was done before it and how to continue.
 * @param state a sentence: how many files are where they should be
 */
export function incomplete(error: AopsError, state: string, nextStep: string): AopsError {
  return new AopsError(`${error.message} ${state}`, {
    code: error.code,
    exit: error.exit,
    hint: error.hint === undefined ? nextStep : `${error.hint} ${nextStep}`,
    details: error.details,
    cause: error,
  });
}

import { AopsError } from '../../base/errors.ts';

/** An error together with a result to print, such as a run that was waited for and failed. */
export class ResultError extends AopsError {
  readonly result: unknown;

  constructor(error: AopsError, result: unknown) {
    super(error.message, {
      code: error.code,
      exit: error.exit,
      details: error.details,
      isIntended: error.isIntended,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
    this.result = result;
  }
}

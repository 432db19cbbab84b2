/** The result of one check of `aops doctor`, and what to do about it. */
import { AopsError } from '../../base/errors.ts';

export interface Check {
  id: string;
  /** `skip`: the check was not possible, because an earlier one failed. */
  status: 'ok' | 'warn' | 'fail' | 'skip';
  /** The result in a few words; never a secret. */
  detail: string;
  /** What to do; null if no action is needed. */
  hint: string | null;
}

export const ok = (id: string, detail: string): Check => ({ id, status: 'ok', detail, hint: null });
export const warn = (id: string, detail: string, hint: string): Check => ({ id, status: 'warn', detail, hint });
export const fail = (id: string, detail: string, hint: string): Check => ({ id, status: 'fail', detail, hint });
export const skip = (id: string, because: string): Check => ({ id, status: 'skip', detail: because, hint: null });

/** An AopsError as a failed check; other errors are thrown again. */
export function failedCheck(id: string, error: unknown): Check {
  if (!(error instanceof AopsError)) throw error;
  return fail(id, error.message, error.hint ?? 'Run the command again with --debug.');
}

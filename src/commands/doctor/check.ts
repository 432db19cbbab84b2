/** One thing that `aops doctor` looked at, and what to do about it. */
import { AopsError } from '../../base/errors.ts';

export interface Check {
  id: string;
  /** `skip`: it could not be looked at, because something before it failed. */
  status: 'ok' | 'warn' | 'fail' | 'skip';
  /** What was found, in a few words; never a secret. */
  detail: string;
  /** What to do; null when nothing is to be done. */
  hint: string | null;
}

export const ok = (id: string, detail: string): Check => ({ id, status: 'ok', detail, hint: null });
export const warn = (id: string, detail: string, hint: string): Check => ({ id, status: 'warn', detail, hint });
export const fail = (id: string, detail: string, hint: string): Check => ({ id, status: 'fail', detail, hint });
export const skip = (id: string, because: string): Check => ({ id, status: 'skip', detail: because, hint: null });

/** A failure of aops itself as a check that failed; other errors pass. */
export function failed(id: string, error: unknown): Check {
  if (!(error instanceof AopsError)) throw error;
  return fail(id, error.message, error.hint ?? 'Run the command again with --debug.');
}

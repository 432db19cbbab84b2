/** Requests whose answers are only a part of what a command shows, or feed a warning. */
import { NotOfferedError, ServiceAnswerError } from '../../client/errors.ts';
import type { Context } from './context.ts';

/** Undefined where the service does not have the operation, does not allow it, or the resource is not there: the main request reports that. */
export async function offered<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof NotOfferedError) return undefined;
    if (error instanceof ServiceAnswerError && [403, 404, 405, 501].includes(error.status)) return undefined;
    throw error;
  }
}

/**
 * For what is read after a change and only feeds a warning: undefined when it fails, whatever the reason, also when it is interrupted. The change was made, and its
 * result is to be shown.
 */
export const ifReadable = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> => call.catch(() => undefined);

/**
 * What a change made, read back to be shown. When that fails, the command has succeeded all the same: it warns, and shows what is known.
 * @param done what was done, as the beginning of a sentence
 */
export async function readBack<Shown>(context: Context, read: Promise<Shown>, known: Shown, done: string): Promise<Shown> {
  try {
    return await read;
  } catch (error) {
    context.terminal.warn(`${done}, but it could not be read: ${error instanceof Error ? error.message : String(error)}`);
    return known;
  }
}

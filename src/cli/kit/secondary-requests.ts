/** Requests whose responses are only a part of what a command shows, or only needed for a warning. */
import { messageOf } from '../../base/errors.ts';
import { NotOfferedError, ServiceAnswerError } from '../../client/errors.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Context } from './context.ts';

/** Undefined when the service does not offer or allow the operation, or the resource does not exist: the main request reports that. */
export async function ifOffered<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof NotOfferedError) return undefined;
    if (error instanceof ServiceAnswerError && [403, 404, 405, 501].includes(error.status)) return undefined;
    throw error;
  }
}

/**
 * For a read after a change that is only needed for a warning: undefined when it fails for any reason, even when it is interrupted. The
 * change was made, and its result must be shown.
 */
export const ifReadable = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> => call.catch(() => undefined);

/**
 * Reads back the result of a change to show it. If that fails, the command has still succeeded: it warns, and shows what is known.
 * @param done what was done, as the beginning of a sentence
 */
export async function readBack<Resource>(context: Context, read: Promise<Resource>, fallback: Resource, done: string): Promise<Resource> {
  try {
    return await read;
  } catch (error) {
    context.terminal.warn(`${done}, but it could not be read back: ${sanitizeLine(messageOf(error))}`);
    return fallback;
  }
}

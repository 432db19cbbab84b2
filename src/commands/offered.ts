/** Parts of a summary that a service may leave out. */
import { ServiceAnswerError } from '../client/errors.ts';

/** Undefined where the service does not have the operation, does not allow it, or the thing is not there: the main request says that. */
export async function offered<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ServiceAnswerError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

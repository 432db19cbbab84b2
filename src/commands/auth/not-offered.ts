/** Operations that only some services offer. */
import { AopsError } from '../../base/errors.ts';

/** Whether the service does not have the operation, or uses its path for something else. */
export const isNotOffered = (error: unknown): boolean =>
  error instanceof AopsError && (error.code === 'unusable_answer' || [400, 403, 404, 405].includes(error.details.status ?? 0));

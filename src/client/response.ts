/** Reading an answer: whether it is what it says it is, and the error it holds. */
import type { ErrorBody } from '../interface/types.ts';
import { header } from './rate-limit.ts';
import type { TransportResponse } from './transport.ts';

/** Whether the answer is one that was stored for an earlier attempt with the same key (interface part 7). */
export const isReplayed = (response: TransportResponse): boolean => header(response.headers, 'idempotency-replayed') === 'true';

/** Whether a success answer has the body it should have: none, or complete JSON. */
export function hasUsableBody(response: TransportResponse): boolean {
  if (response.status === 204) return true;
  if (!/^application\/([\w.-]+\+)?json\b/i.test(header(response.headers, 'content-type') ?? '')) return false;
  try {
    JSON.parse(response.body.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** Error bodies are sentences; of anything longer the start will do. */
const errorBodyLimit = 65_536;

/** The error body, however badly formed: the status is reported in any case. */
export function errorBody(response: TransportResponse): ErrorBody {
  try {
    const body = JSON.parse(response.body.subarray(0, errorBodyLimit).toString('utf8')) as Partial<ErrorBody> | null;
    if (typeof body?.error === 'string') {
      return {
        error: body.error,
        ...(typeof body.message === 'string' ? { message: body.message } : {}),
        ...(Array.isArray(body.details) ? { details: body.details } : {}),
      };
    }
  } catch {
    // Not JSON: the status has to do.
  }
  return { error: `http_${response.status}`, message: `The service answered ${response.status} without a readable error.` };
}

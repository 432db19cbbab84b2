/** The idempotency key of a request, and a fingerprint that identifies repeats of the same request. Pure. */
import { Buffer } from 'node:buffer';
import { createHash, type Hash, hash } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import { contentEssence } from '../body.ts';

/** The key of a request, from its raw headers; undefined when there is none. Throws 400 `invalid_idempotency_key`. */
export function idempotencyKey(rawHeaders: readonly string[]): string | undefined {
  // node:http joins repeated headers with a comma, which would make one key of two.
  const keys: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'idempotency-key') keys.push(rawHeaders[index + 1] ?? '');
  if (keys.length > 1) throw new ServiceError(400, 'invalid_idempotency_key', 'Send one Idempotency-Key header.');
  const key = keys[0];
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new ServiceError(400, 'invalid_idempotency_key', 'An Idempotency-Key has 1 to 255 visible ASCII characters and no spaces.');
  }
  return key;
}

/** The parts of a request's identity in addition to its body. */
export interface FingerprintedRequest {
  method: string;
  segments: readonly string[];
  search: URLSearchParams;
  contentType: string | undefined;
}

/** Equal for the same requests: it covers the method, decoded path, sorted query, content type and the exact bytes of the body. */
export const fingerprint = (request: FingerprintedRequest, body: Buffer): string =>
  hash('sha256', Buffer.concat([Buffer.from(headOf(request)), body]));

/** The same for a body that arrives in chunks, which the caller adds. */
export const startFingerprint = (request: FingerprintedRequest): Hash => createHash('sha256').update(headOf(request));

function headOf({ method, segments, search, contentType }: FingerprintedRequest): string {
  const query = [...search].map(([name, value]) => JSON.stringify([name, value])).sort();
  return `${JSON.stringify([method, segments, query, contentEssence(contentType)])}\n`;
}

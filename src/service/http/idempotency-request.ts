/** What a request says of its idempotency: its key, and what makes it the same request as another. Pure. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { contentEssence } from './body.ts';

/** The key of a request, from its headers as received; undefined when there is none. Throws 400 `invalid_idempotency_key`. */
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

/** What makes two requests the same: method, decoded path, sorted query, content type and the very bytes of the body. */
export function fingerprint(request: {
  method: string;
  segments: readonly string[];
  search: URLSearchParams;
  contentType: string | undefined;
  body: Buffer;
}): string {
  const query = [...request.search].map(([name, value]) => JSON.stringify([name, value])).sort();
  const head = [request.method, request.segments, query, contentEssence(request.contentType)];
  return hash('sha256', Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), request.body]));
}

/** Idempotency keys (interface part 8): one for each logical change, kept for all of its attempts. */
import { randomUUID } from 'node:crypto';
import { UsageError } from '../base/errors.ts';

/** A fresh key. It says nothing of the user or the request. */
export const newIdempotencyKey = (): string => `aops-${randomUUID()}`;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The key as given by a user. The message never echoes a bad value: it may be a mispasted secret. */
export function checkedIdempotencyKey(key: string): string {
  if (visibleAscii.test(key)) return key;
  throw new UsageError('The idempotency key must be 1 to 255 visible ASCII characters, without spaces.');
}

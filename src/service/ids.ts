/** Ids of what the service keeps. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../base/clock.ts';

/**
 * A new id: a UUID of version 7 (RFC 9562 section 5.7). It begins with the time, so ids of one moment lie side by side in an index, and
 * what is made together is written together: with ids at random each of them is on a page of its own. Nothing reads the time in it.
 */
export function newId(): string {
  const time = systemClock.now().toString(16).padStart(12, '0');
  // The random part is that of a version 4, behind the digit that says which one it is.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** IDs of the objects that the service stores. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../base/clock.ts';

/**
 * A new ID: a UUID of version 7 (RFC 9562 section 5.7). It begins with the time, so objects that are created together are next to
 * each other in an index and are written together; with random IDs, each would be on a different page. Nothing reads the time from it.
 */
export function newId(): string {
  const time = systemClock.now().toString(16).padStart(12, '0');
  // The random part is that of a version 4 UUID, after the digit for the version.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

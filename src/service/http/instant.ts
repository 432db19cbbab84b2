/** Date-times that callers give. */
import { ServiceError } from '../errors.ts';
import { isoTime } from '../store/database/time.ts';

/** A date-time in UTC, as the tables have it. Throws 400 `invalid_request` for one that cannot be told. */
export function instant(name: string, text: string): string {
  const time = Date.parse(text);
  // A leap second is a valid date-time that JavaScript cannot hold.
  if (Number.isNaN(time))
    throw new ServiceError(400, 'invalid_request', `${name} is not a time this service can tell.`, {
      details: [{ path: name, message: 'is not a known time' }],
    });
  return isoTime(time);
}

/** Date-times from callers. */
import { ServiceError } from '../errors.ts';
import { isoTime } from '../store/database/time.ts';

/** A date-time in UTC, as stored in the tables. Throws 400 `invalid_request` for one that cannot be represented. */
export function instant(name: string, text: string): string {
  const time = Date.parse(text);
  // A leap second is a valid date-time that JavaScript cannot represent.
  if (Number.isNaN(time))
    throw new ServiceError(400, 'invalid_request', `${name} is not a time that this service supports.`, {
      details: [{ path: name, message: 'is not a supported time' }],
    });
  return isoTime(time);
}

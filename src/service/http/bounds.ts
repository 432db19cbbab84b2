/** Bounds that the interface does not name and queries have all the same. */
import { ServiceError } from '../errors.ts';

/** Characters of a text that is searched for: databases limit their patterns. */
const longestSearch = 1_000;
/** Labels that a new case is given, or that a filter names. */
const mostLabels = 100;

/** Throws 400 `invalid_request` for a text that is too long to be searched for. */
export function requireSearchable(text: string | undefined): void {
  if ((text?.length ?? 0) > longestSearch) throw tooMuch('search', `must not be longer than ${longestSearch} characters`);
}

/** Throws 400 `invalid_request` for more labels than a new case may be given, or a filter may name. */
export function requireFewLabels(path: string, count: number): void {
  if (count > mostLabels) throw tooMuch(path, `must not have more than ${mostLabels} items`);
}

const tooMuch = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });

/** Limits of queries that are not part of the interface. */
import { ServiceError } from '../errors.ts';

/** Maximum length of a search text in characters, because databases limit their patterns. */
const maxSearchLength = 1_000;
/** Maximum number of labels of a new case or in a filter. */
const maxLabels = 100;

/** Throws 400 `invalid_request` for a search text that is too long. */
export function requireSearchable(text: string | undefined): void {
  if ((text?.length ?? 0) > maxSearchLength) throw tooMuch('search', `must not be longer than ${maxSearchLength} characters`);
}

/** Throws 400 `invalid_request` for too many labels of a new case or in a filter. */
export function requireFewLabels(path: string, count: number): void {
  if (count > maxLabels) throw tooMuch(path, `must not have more than ${maxLabels} items`);
}

const tooMuch = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });

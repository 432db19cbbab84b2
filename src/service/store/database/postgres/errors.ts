/** The errors of Postgres and of connections to it. https://www.postgresql.org/docs/current/errcodes-appendix.html */
import { DatabaseBusyError, DatabaseUnavailableError } from '../unavailable.ts';

/** The code of an error: five characters from Postgres, and a longer name from the connection. */
export const stateOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/**
 * Whether the database ended a transaction in favour of another one, whatever it did: a serialization failure, or a deadlock. A statement
 * that is not part of a transaction can be executed again as well.
 */
export const wasSacrificed = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error));

/**
 * Whether the database ended a transaction in favour of another one: a serialization failure, a deadlock, or a row that another
 * transaction has inserted (23505) or removed (23503) after this one had looked for it. Executed again, it finds what the other one has
 * done.
 */
export const isConflict = (error: unknown): boolean => wasSacrificed(error) || ['23505', '23503'].includes(stateOf(error));

/** Whether a statement failed only because an earlier one of its transaction had failed. */
export const isAfterFailure = (error: unknown): boolean => stateOf(error) === '25P02';

/**
 * Whether a statement was prepared before another node has changed its tables, as a newer version does. Connections that prepare it
 * anew can execute it.
 */
export const isOutdatedPlan = (error: unknown): boolean =>
  stateOf(error) === '0A000' && error instanceof Error && error.message.includes('cached plan');

/** Classes and codes that mean that the connection is of no use any more, and not that the query is wrong. */
const isOfConnection = (state: string): boolean => state.startsWith('08') || /^57P0\d$|^25P03$|^53300$/.test(state);

/** Converts an error of a query: those without a code of Postgres come from the connection. */
export function queryError(error: unknown): unknown {
  if (error instanceof DatabaseUnavailableError) return error;
  const state = stateOf(error);
  const isOfServer = /^[0-9A-Z]{5}$/.test(state) && error instanceof Error && 'severity' in error;
  return isOfServer && !isOfConnection(state) ? error : new DatabaseUnavailableError(error);
}

/** Converts an error of getting a connection from the pool, whose queue has a time limit. */
export const connectError = (error: unknown): unknown =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect' ? new DatabaseBusyError(error) : queryError(error);

/** Errors of the connection to a database, after which the same query may succeed. */
import { messageOf } from '../../../base/errors.ts';

/** The database cannot be reached, or has ended the connection. Whether a transaction in progress was committed may be unknown. */
export class DatabaseUnavailableError extends Error {
  readonly code = 'DATABASE_UNAVAILABLE';

  constructor(cause: unknown) {
    super(`The database is not available: ${messageOf(cause)}.`, { cause });
    this.name = 'DatabaseUnavailableError';
  }
}

/** No connection to the database became free in time. Nothing was sent to it. */
export class DatabaseBusyError extends Error {
  readonly code = 'DATABASE_BUSY';

  constructor(cause: unknown) {
    super('No connection to the database became free in time.', { cause });
    this.name = 'DatabaseBusyError';
  }
}

/** The connection ended while a transaction was being committed: only the database knows the result. */
export class LostCommitError extends DatabaseUnavailableError {
  override readonly name = 'LostCommitError';
}

/**
 * Renews the access token of a connection once for everybody who needs it, on all nodes: a refresh token might be valid for a single
 * use.
 */
import { SingleFlight } from '../../base/single-flight.ts';
import type { Queries, Store } from '../store/database/database.ts';
import { exclusively } from '../store/database/exclusively.ts';
import type { StoredOAuth } from './secrets.ts';

/** Milliseconds that a renewal of another node is waited for; longer than the time limit of its request. */
const patience = 60_000;

export class Renewals {
  readonly #store: Store;
  readonly #inProgress = new SingleFlight<StoredOAuth>();

  /** @param store the whole store, because tokens that were renewed for a request are valid even if the request fails */
  constructor(store: Store) {
    this.#store = store;
  }

  /** The tokens that `renew` stores and returns, or those of the renewal in progress. `renew` runs while no other node renews them. */
  run(connection: string, renew: (db: Queries) => Promise<StoredOAuth>): Promise<StoredOAuth> {
    return this.#inProgress.run(connection, () => exclusively(this.#store, `renewal of ${connection}`, patience, renew));
  }
}

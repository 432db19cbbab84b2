/** A Postgres database that several nodes use. Loaded only if a service uses one. */
import { type Clock, steadyTime, systemClock } from '../../base/clock.ts';
import { SharedTokenCache } from './access/token-cache.ts';
import { DatabaseClock } from './database/postgres/database-clock.ts';
import { openPostgres } from './database/postgres/open.ts';
import type { IdempotencyBounds } from './idempotency/key-usage.ts';
import { SharedIdempotencyKeys } from './idempotency/shared-keys.ts';
import type { Storage } from './storage.ts';

export interface SharedStorageOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Names this node. */
  instanceId: string;
  /** How many connections this node may use for queries. */
  maxConnections?: number | undefined;
  /** By default the clock of the database. */
  clock?: Clock | undefined;
  /** What each credential may store under idempotency keys, as far as this node knows. */
  bounds: IdempotencyBounds | undefined;
}

/** Opens the database, and creates or migrates its tables. Throws what `openPostgres` does. */
export async function openSharedStorage({ clock: fixedClock, bounds, ...options }: SharedStorageOptions): Promise<Storage> {
  const store = await openPostgres(options);
  const clock = fixedClock ?? (await DatabaseClock.of(store));
  return {
    ...{ store, clock },
    tokens: new SharedTokenCache(store, () => steadyTime(systemClock)),
    keys: new SharedIdempotencyKeys({ store, clock, bounds }),
    copies: {
      hold: async () => Promise.reject(new Error('Postgres has its own tools for backups.')),
      release: async () => undefined,
    },
    // Other nodes are working on their jobs; those of nodes that have ended are taken over when their leases end.
    reclaim: async () => 0,
    failure: (error) => error,
  };
}

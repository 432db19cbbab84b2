/** A Postgres database that several nodes use. Loaded only if a service uses one. */
import { type Clock, steadyTime, systemClock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';
import { RateWindows } from './access/rate-windows.ts';
import { SharedTokenCache } from './access/token-cache.ts';
import { removeExportMark } from './database/portable/export-mark.ts';
import type { ExportSource, ImportTarget } from './database/portable/portable-database.ts';
import { DatabaseClock } from './database/postgres/database-clock.ts';
import { refuseDuringExport } from './database/postgres/moving-locks.ts';
import { connectPostgres } from './database/postgres/open.ts';
import { openSource, openTarget } from './database/postgres/portable.ts';
import type { IdempotencyBounds } from './idempotency/key-usage.ts';
import { SharedIdempotencyKeys } from './idempotency/shared-keys.ts';
import type { Storage } from './storage.ts';

export interface SharedStorageOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Identifies this node. */
  instanceId: string;
  /** What its connections are called. By default its ID. */
  name?: string | undefined;
  /** Whether no other node that is alive may have this name. */
  hasOwnName?: boolean | undefined;
  /** How many connections this node may use for queries. */
  maxConnections?: number | undefined;
  /** By default the clock of the database. */
  clock?: Clock | undefined;
  /** What each credential may store under idempotency keys, as far as this node knows. */
  bounds: IdempotencyBounds | undefined;
  /** Whether the tables must exist already. */
  requireTables?: boolean;
}

const backupAdvice =
  'This service stores its data in Postgres, which has its own tools for backups: use pg_dump, or the backups of its provider.';

/** The storage of a node, with what all nodes share. */
export type SharedStorage = Storage & Required<Pick<Storage, 'clock' | 'connections'>>;

/** Opens the database, and creates or migrates its tables. Throws what `connectPostgres` does, and AopsError `export_running`. */
export async function openSharedStorage({ clock: fixedClock, bounds, ...options }: SharedStorageOptions): Promise<SharedStorage> {
  const { store, connections } = await connectPostgres(options);
  await store
    .transaction()
    .execute(async (trx) => {
      await refuseDuringExport(trx);
      await removeExportMark(trx);
    })
    .catch(async (error: unknown) => {
      await store.destroy();
      throw error;
    });
  const clock = fixedClock ?? (await DatabaseClock.of(store));
  return {
    ...{ store, clock, connections },
    tokens: new SharedTokenCache(store, () => steadyTime(systemClock)),
    keys: new SharedIdempotencyKeys({ store, clock, bounds }),
    rateWindows: new RateWindows(store),
    copies: {
      hold: () => Promise.reject(new ServiceError(409, 'backup_not_supported', backupAdvice)),
      release: async () => undefined,
    },
    // Other nodes are working on their jobs; those of nodes that have ended are taken over when their leases end.
    reclaim: async () => 0,
    failure: (error) => error,
  };
}

/** Opens a database to export it. @param instanceId names its connections. Throws what `openSource` does. */
export const openSharedSource = (url: string, instanceId: string): Promise<ExportSource> => openSource({ url, instanceId });

/** Opens a database to import into it. @param instanceId names its connections. Throws what `openTarget` does. */
export const openSharedTarget = (url: string, instanceId: string): Promise<ImportTarget> => openTarget({ url, instanceId });

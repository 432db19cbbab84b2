/** The target of an import, whichever kind of database it is. */
import type { Queries } from '../database.ts';
import { createProgress, dropProgress, readProgress } from './import-progress.ts';
import type { ImportProgress, ImportTarget, PortableDatabase } from './portable-database.ts';

/** What differs between the kinds of databases. */
export interface TargetParts {
  /** Whether the table of the progress exists. */
  hasProgress(): Promise<boolean>;
  /** Makes sure, in a transaction, that nothing but this import can create tables. */
  claim(trx: Queries): Promise<void>;
  /** Creates the tables as of a schema, unless they exist. */
  createTables(schema: string): Promise<void>;
  /** Brings the tables up to this version. */
  upgrade(): Promise<void>;
}

export function importTarget(database: PortableDatabase, { hasProgress, claim, createTables, upgrade }: TargetParts): ImportTarget {
  const { store } = database;
  const progress = async (): Promise<ImportProgress | undefined> => ((await hasProgress()) ? readProgress(store) : undefined);
  return {
    ...database,
    progress,
    upgrade,
    async begin(exportDigest, schema) {
      if ((await progress()) === undefined)
        await store.transaction().execute(async (trx) => {
          await claim(trx);
          await createProgress(trx, exportDigest);
        });
      await createTables(schema);
    },
    finish: (work) =>
      store.transaction().execute(async (trx) => {
        await work(trx);
        await dropProgress(trx);
      }),
  };
}

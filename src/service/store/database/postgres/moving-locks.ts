/** Locks of commands that move a whole database: only one of them at a time, and no node meanwhile. */
import { sql } from 'kysely';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import type { Queries, Store } from '../database.ts';

const problems = {
  export: 'Another process is exporting this database.',
  import: 'Another process is importing into this database.',
};

/** What a process does with the whole database. */
export type Move = keyof typeof problems;

const running = (move: Move): AopsError =>
  new AopsError(problems[move], { code: `${move}_running`, exit: exitCodes.conflict, hint: 'Wait until it has ended.' });

/** Holds a lock, in a transaction of its own, until the function is called to which this resolves. @throws AopsError `export_running`, `import_running` */
export async function holdMove(store: Store, move: Move): Promise<() => Promise<void>> {
  let release: () => void = () => undefined;
  const end = new Promise<void>((resolve) => {
    release = resolve;
  });
  return new Promise((resolve, reject) => {
    const transaction = store.transaction().execute(async (trx) => {
      await withoutTimeLimits(trx);
      const { rows } = await sql<{
        taken: number;
      }>`select pg_try_advisory_xact_lock(hashtextextended(${`aops ${move}`}, 0)) as taken`.execute(trx);
      if (rows[0]?.taken !== 1) throw running(move);
      resolve(async () => {
        release();
        await transaction.catch(() => undefined);
      });
      await end;
    });
    transaction.catch(reject);
  });
}

/**
 * Refuses a database that is being exported. Call it when this process is connected: an export that begins later finds the connection.
 * @throws AopsError `export_running`
 */
export async function refuseDuringExport(trx: Queries): Promise<void> {
  const { rows } = await sql<{
    taken: number;
  }>`select pg_try_advisory_xact_lock_shared(hashtextextended('aops export', 0)) as taken`.execute(trx);
  if (rows[0]?.taken !== 1) throw running('export');
}

/** A long transaction of this command alone, which waits for its disk in between. */
export async function withoutTimeLimits(trx: Queries): Promise<void> {
  await sql`set local statement_timeout = 0`.execute(trx);
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
}

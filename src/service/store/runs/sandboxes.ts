/** Sandboxes. Their files are in the data directory. */
import type { Insertable, SelectQueryBuilder } from 'kysely';
import type { Queries } from '../database/database.ts';
import { columnsOf, namesOf, preparedQuery } from '../database/prepared.ts';
import { isShared, lockIfDeciding } from '../database/row-locks.ts';
import type { Database, SandboxesTable, SandboxRow } from '../database/schema.ts';
import { forgetCheckOut } from './sandbox-repositories.ts';

export async function insertSandbox(db: Queries, sandbox: Insertable<SandboxesTable>): Promise<void> {
  await insertQuery.send(db, sandbox);
}

const insertQuery = preparedQuery(
  (db, sandbox: Insertable<SandboxesTable>, values) => db.insertInto('sandboxes').values(columnsOf(sandbox, values)),
  (sandbox) => namesOf(sandbox).join(),
);

export async function findSandbox(db: Queries, teamId: string, id: string): Promise<SandboxRow | undefined> {
  await lockIfDeciding(db, 'sandboxes', id);
  return db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('removed_at', 'is', null)
    .executeTakeFirst();
}

/** Assigns the sandbox to a run, so that it exists as long as the run. */
export async function keepSandbox(db: Queries, id: string): Promise<void> {
  await db.updateTable('sandboxes').set({ expires_at: null }).where('id', '=', id).execute();
}

/** Marks the sandbox as removed if it has expired and no run uses it. Resolves to whether it did. */
export async function expireSandbox(db: Queries, id: string, now: string): Promise<boolean> {
  const result = await db
    .updateTable('sandboxes')
    .set({ removed_at: now })
    .where('id', '=', id)
    .where('expires_at', '<=', now)
    .where('removed_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Whether a sandbox was removed, and whether it was staged and no run has used it; undefined if it is not known any more. */
export async function removalOf(db: Queries, id: string): Promise<{ isRemoved: boolean; wasStaged: boolean } | undefined> {
  const row = await removal.first(db, { id });
  return row && { isRemoved: row.removed_at !== null, wasStaged: row.expires_at !== null };
}

const removal = preparedQuery((db, { id }: { id: string }) =>
  db.selectFrom('sandboxes').select(['removed_at', 'expires_at']).where('id', '=', id),
);

/** When a sandbox expires, in milliseconds; undefined if a run uses it or it has been removed. */
export async function expiryOf(db: Queries, id: string): Promise<number | undefined> {
  const row = await db.selectFrom('sandboxes').select('expires_at').where('id', '=', id).where('removed_at', 'is', null).executeTakeFirst();
  return typeof row?.expires_at === 'string' ? Date.parse(row.expires_at) : undefined;
}

/** Sandboxes whose runs all ended at this time (ISO 8601) or before. */
export async function endedSandboxes(db: Queries, before: string, limit: number): Promise<string[]> {
  const rows = await withoutActiveRuns(db.selectFrom('sandboxes').select('sandboxes.id'), before).limit(limit).execute();
  return rows.map((row) => row.id);
}

/** Marks such a sandbox as removed. Resolves to whether it did. */
export async function removeEndedSandbox(trx: Queries, id: string, before: string, now: string): Promise<boolean> {
  const result = await trx
    .updateTable('sandboxes')
    .set({ removed_at: now })
    .where('id', '=', id)
    .where('id', 'in', (where) => withoutActiveRuns(where.selectFrom('sandboxes').select('sandboxes.id'), before))
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return false;
  await forgetCheckOut(trx, id);
  return true;
}

/** When the last run of a sandbox ended, for the sandbox where this was earliest; undefined if every sandbox has active runs. */
export async function firstEnd(db: Queries): Promise<string | undefined> {
  const row = await db
    .selectFrom('runs')
    .innerJoin('sandboxes', 'sandboxes.id', 'runs.sandbox_id')
    .select((select) => select.fn.max('runs.completed_at').as('last'))
    .where('sandboxes.removed_at', 'is', null)
    .where('sandboxes.expires_at', 'is', null)
    .groupBy('runs.sandbox_id')
    // Only ended runs have the time.
    .having((having) => having(having.fn.countAll(), '=', having.fn.count('runs.completed_at')))
    .orderBy('last')
    .limit(1)
    .executeTakeFirst();
  return row?.last ?? undefined;
}

/** Notes that files may have been written in a sandbox, on a database that only one process uses. Until then, it needs no folder. */
export async function noteUse(db: Queries, id: string): Promise<void> {
  await useQuery.send(db, { id });
}

const useQuery = preparedQuery((db, { id }: { id: string }) =>
  db.updateTable('sandboxes').set({ version: 1 }).where('id', '=', id).where('version', '=', 0),
);

/** A run that continues has a sandbox, even if it is empty. */
export async function reviveSandbox(trx: Queries, id: string): Promise<void> {
  await reviveQuery.send(trx, { id });
}

const reviveQuery = preparedQuery((db, { id }: { id: string }) =>
  db
    .updateTable('sandboxes')
    .set({ removed_at: null, ...(isShared(db) ? {} : { version: 0 }) })
    .where('id', '=', id)
    .where('removed_at', 'is not', null),
);

/** Restricts a query to sandboxes that runs have used and that have no active runs. */
const withoutActiveRuns = <Row>(query: SelectQueryBuilder<Database, 'sandboxes', Row>, before: string) =>
  query
    .where('sandboxes.removed_at', 'is', null)
    .where('sandboxes.expires_at', 'is', null)
    .where((where) => where.exists(where.selectFrom('runs').select('runs.id').whereRef('runs.sandbox_id', '=', 'sandboxes.id')))
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('runs')
            .select('runs.id')
            .whereRef('runs.sandbox_id', '=', 'sandboxes.id')
            .where((run) => run.or([run('runs.completed_at', 'is', null), run('runs.completed_at', '>', before)])),
        ),
      ),
    );

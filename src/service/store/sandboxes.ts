/** Which sandboxes there are; their files are in the data directory. */
import type { Insertable } from 'kysely';
import type { Queries } from './database.ts';
import type { SandboxesTable, SandboxRow } from './schema.ts';

export async function insertSandbox(db: Queries, sandbox: Insertable<SandboxesTable>): Promise<void> {
  await db.insertInto('sandboxes').values(sandbox).execute();
}

export async function findSandbox(db: Queries, teamId: string, id: string): Promise<SandboxRow | undefined> {
  return db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('removed_at', 'is', null)
    .executeTakeFirst();
}

/** A run has taken the sandbox, which from now on lives as long as the run. */
export async function keepSandbox(db: Queries, id: string): Promise<void> {
  await db.updateTable('sandboxes').set({ expires_at: null }).where('id', '=', id).execute();
}

/** Marks the sandbox as removed if its time is over and no run has taken it; tells whether it did. */
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

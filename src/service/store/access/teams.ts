/** Teams. Deleted teams are kept for the rows that refer to them, but are no longer found. */
import type { Insertable, Updateable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding, lockName, lockRows } from '../database/row-locks.ts';
import type { TeamRow, TeamsTable } from '../database/schema.ts';

export async function insertTeam(db: Queries, team: Insertable<TeamsTable>): Promise<void> {
  await db.insertInto('teams').values(team).execute();
}

export async function findTeam(db: Queries, id: string): Promise<TeamRow | undefined> {
  await lockIfDeciding(db, 'teams', id);
  return db.selectFrom('teams').selectAll().where('id', '=', id).where('deleted_at', 'is', null).executeTakeFirst();
}

/** Whether a team exists, without locking it: for transactions that have locked what belongs to it. */
export async function teamExists(db: Queries, id: string): Promise<boolean> {
  const row = await db.selectFrom('teams').select('id').where('id', '=', id).where('deleted_at', 'is', null).executeTakeFirst();
  return row !== undefined;
}

/** The teams that have not been deleted, oldest first. */
export async function listTeamRows(db: Queries, page: { limit: number; offset: number }): Promise<{ rows: TeamRow[]; total: number }> {
  const query = db.selectFrom('teams').where('deleted_at', 'is', null);
  const rows = await query.selectAll().orderBy('created_at').orderBy('id').limit(page.limit).offset(page.offset).execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

/** Locks the team's row until the transaction ends, so that a count made after it remains correct until then. */
export async function lockTeam(trx: Queries, id: string): Promise<void> {
  await lockRows(trx, 'teams', [id]);
}

/** The team with this exact name. Until the end of a transaction that asks for it, no other one that does so can use the name. */
export async function findTeamNamed(db: Queries, name: string): Promise<TeamRow | undefined> {
  if (db.isTransaction) await lockName(db, `team ${name}`);
  return db.selectFrom('teams').selectAll().where('name', '=', name).where('deleted_at', 'is', null).executeTakeFirst();
}

export async function updateTeamRow(db: Queries, id: string, changes: Updateable<TeamsTable>): Promise<TeamRow> {
  return db.updateTable('teams').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

/** Rows of the database: the whole content, to check that something changes nothing, and runs that were never started. */
import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { Store } from '../../../src/service/store/database/database.ts';
import type { Database } from '../../../src/service/store/database/schema.ts';

/** Every row of every table. */
export async function allRows(db: Kysely<Database>): Promise<Record<string, unknown[]>> {
  const names = (await db.introspection.getTables()).map(({ name }) => name).sort();
  // Postgres returns rows in any order, and a changed row elsewhere than before.
  const rowsOf = async (name: string) =>
    (await sql`select * from ${sql.table(name)}`.execute(db)).rows
      .map((row) => ({ row, text: JSON.stringify(row) }))
      .sort((first, second) => (first.text < second.text ? -1 : 1))
      .map(({ row }) => row);
  const tables = await Promise.all(names.map(async (name) => [name, await rowsOf(name)] as const));
  return Object.fromEntries(tables);
}

/** Inserts three runs of a team, of which only the numbers matter. Their IDs are those of the team with 0, 1, and 2. */
export async function insertRuns(db: Store, teamId: string): Promise<void> {
  const timestamp = '2026-07-18T09:00:00.000Z';
  const [agent, build, sandbox] = [randomUUID(), randomUUID(), randomUUID()];
  const names = { name: teamId, name_folded: teamId, created_at: timestamp, updated_at: timestamp };
  await db
    .insertInto('agents')
    .values({ id: agent, team_id: teamId, ...names })
    .execute();
  await db
    .insertInto('builds')
    .values({ id: build, agent_id: agent, revision_number: 1, name: 'first', created_at: timestamp, updated_at: timestamp })
    .execute();
  await db.insertInto('sandboxes').values({ id: sandbox, team_id: teamId, created_at: timestamp }).execute();
  await db
    .insertInto('procedures')
    .values({ hash: 'h', text: '' })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  for (let index = 0; index < 3; index++) {
    await db
      .insertInto('runs')
      .values({
        id: `${teamId} ${index}`,
        team_id: teamId,
        agent_id: agent,
        build_id: build,
        run_number: index + 1,
        title: '',
        title_folded: '',
        status: 'pending',
        source: 'api',
        sandbox_id: sandbox,
        runtime: 'test',
        procedure_hash: 'h',
        turn: 1,
        submitted_prompt_count: 0,
        resume_count: 0,
        exec_level: null,
        created_at: timestamp,
        updated_at: timestamp,
      })
      .execute();
  }
}

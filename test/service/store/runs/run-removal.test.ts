/** Which runs are removed, and what of them stays: nothing that is still in use is removed, and no number is assigned twice. */
import { type Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { endedRuns, firstRunEnd, removeRuns } from '../../../../src/service/store/runs/run-removal.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

let db: Kysely<Database>;
beforeEach(async () => {
  const openedDatabase = await openDatabase(await temporaryDirectory());
  afterTest(() => openedDatabase.destroy());
  db = openedDatabase;
  // Rows of the tables in between are left out.
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into teams (id, name, created_at) values ('t', 'Team', '')`.execute(db);
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Queue', '', '')`.execute(db);
});

interface RunSettings {
  status?: string;
  completedAt?: string | null;
  sandbox?: string;
}

/** A run of July with this number, which is also its ID. */
async function run(
  number: number,
  { status = 'completed', completedAt = '2026-07-10', sandbox = `s${number}` }: RunSettings = {},
): Promise<string> {
  const id = `r${number}`;
  await sql`insert or ignore into sandboxes (id, team_id, created_at) values (${sandbox}, 't', '')`.execute(db);
  await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
    turn, submitted_prompt_count, resume_count, created_at, updated_at, completed_at)
    values (${id}, 't', 'a', 'b', ${number}, '', '', ${status}, 'api', ${sandbox}, 'script', 'h', 1, 0, 0, '2026-07-01T00:00:00.000Z', '', ${completedAt})`.execute(
    db,
  );
  return id;
}

const before = '2026-08-01';
const remove = (...ids: string[]) => removeRuns(db, ids, { before, jobKinds: ['run', 'evaluate'] });
const idsOf = async (table: 'runs' | 'sandboxes' | 'jobs'): Promise<string[]> =>
  (await sql<{ id: string }>`select id from ${sql.table(table)} order by id`.execute(db)).rows.map(({ id }) => id);
const lastRemoved = async (): Promise<number> =>
  Number((await sql<{ last: number }>`select last_removed_run as last from teams`.execute(db)).rows[0]?.last);

describe('the runs to remove', () => {
  it('are those that ended, the earliest first, and no more than were requested', async () => {
    await run(1, { completedAt: '2026-07-12' });
    await run(2, { completedAt: '2026-07-11', status: 'failed' });
    await run(3, { completedAt: '2026-07-13', status: 'interrupted' });
    expect(await endedRuns(db, before, 2)).toEqual(['r2', 'r1']);
    expect(await endedRuns(db, before, 10)).toEqual(['r2', 'r1', 'r3']);
  });

  it('include one that ended at that moment, and none that ended later', async () => {
    await run(1, { completedAt: before });
    await run(2, { completedAt: `${before}T00:00:00.001Z` });
    expect(await endedRuns(db, before, 10)).toEqual(['r1']);
  });

  it.each(['not_started', 'pending', 'starting', 'running', 'waiting'])('do not include one that is %s again', async (status) => {
    await run(1, { status });
    expect(await endedRuns(db, before, 10)).toEqual([]);
    expect((await remove('r1')).runs).toEqual([]);
    expect(await idsOf('runs')).toEqual(['r1']);
  });

  it('do not include one that a case is still assigned to', async () => {
    await run(1);
    await run(2);
    await sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, claimed_by_run_id, created_at, updated_at)
      values ('c', 'q', 1, '', '', '', 'in_progress', 0, 'r1', '', '')`.execute(db);
    expect(await endedRuns(db, before, 10)).toEqual(['r2']);
  });

  it('begin with the run that ended first', async () => {
    expect(await firstRunEnd(db)).toBeUndefined();
    await run(1, { completedAt: '2026-07-12' });
    await run(2, { completedAt: '2026-07-11' });
    await run(3, { completedAt: null, status: 'running' });
    expect(await firstRunEnd(db)).toBe('2026-07-11');
  });
});

describe('removing runs', () => {
  it('leaves a run that was continued after it was selected', async () => {
    await run(1);
    await run(2);
    const ids = await endedRuns(db, before, 10);
    await sql`update runs set completed_at = '2026-09-01' where id = 'r1'`.execute(db);
    expect((await remove(...ids)).runs.map(({ id }) => id)).toEqual(['r2']);
    expect(await idsOf('runs')).toEqual(['r1']);
  });

  it('never assigns a number again, in whichever order runs are removed', async () => {
    for (const number of [1, 2, 3]) await run(number);
    await remove('r3');
    expect(await lastRemoved()).toBe(3);
    await remove('r1');
    await remove('r2');
    expect(await lastRemoved()).toBe(3);
  });

  it('keeps the number of runs of the month, by status', async () => {
    for (const [number, status] of [
      [1, 'completed'],
      [2, 'completed'],
      [3, 'failed'],
    ] as const)
      await run(number, { status });
    await remove('r1', 'r2');
    await remove('r3');
    const { rows } = await sql`select period, status, runs from removed_runs order by status`.execute(db);
    expect(rows).toEqual([
      { period: '2026-07-01T00:00:00.000Z', status: 'completed', runs: 2 },
      { period: '2026-07-01T00:00:00.000Z', status: 'failed', runs: 1 },
    ]);
  });

  it('corrects the totals that lists show', async () => {
    for (const number of [1, 2]) await run(number);
    await sql`insert into run_totals (team_id, agent_id, status, source, runs) values ('t', 'a', 'completed', 'api', 2)`.execute(db);
    await remove('r1');
    expect((await sql`select runs from run_totals`.execute(db)).rows).toEqual([{ runs: 1 }]);
  });

  it('removes sandboxes that nothing uses any more, and no others', async () => {
    await run(1, { sandbox: 'shared' });
    await run(2, { sandbox: 'shared' });
    await run(3, { sandbox: 'staged' });
    await run(4);
    await sql`update sandboxes set expires_at = '2026-09-01' where id = 'staged'`.execute(db);
    expect((await remove('r1', 'r3', 'r4')).sandboxIds).toEqual(['s4']);
    expect(await idsOf('sandboxes')).toEqual(['shared', 'staged']);
    expect((await remove('r2')).sandboxIds).toEqual(['shared']);
  });

  it('removes the jobs of these runs alone', async () => {
    await run(1);
    await run(2);
    for (const [id, kind, subject] of [
      ['j1', 'run', 'r1'],
      ['j2', 'evaluate', 'r1'],
      ['j3', 'run', 'r2'],
      ['j4', 'deliver', 'r1'],
    ])
      await sql`insert into jobs (id, kind, subject_id, status, due_at)
        values (${id}, ${kind}, ${subject}, 'done', 0)`.execute(db);
    await remove('r1');
    expect(await idsOf('jobs')).toEqual(['j3', 'j4']);
  });
});

/** What a transaction on a database of several nodes remembers: what it has locked, and what it has learned. */
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../../src/service/store/access/teams.ts';
import { cachedQuery } from '../../../../../src/service/store/database/cached.ts';
import type { Queries, Store } from '../../../../../src/service/store/database/database.ts';
import { preparedQuery } from '../../../../../src/service/store/database/prepared.ts';
import { lockRowNow, lockRows, lockRunAndJob } from '../../../../../src/service/store/database/row-locks.ts';
import { enqueueJob } from '../../../../../src/service/store/jobs/jobs.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../../helpers/postgres.ts';
import { insertRuns } from '../../../helpers/rows.ts';

const prepared = preparedQuery((db, _: object) => db.selectFrom('settings').select('name').where('name', 'like', 'x%').orderBy('name'));

/** Two nodes with a query of some settings, and how often it was executed. */
async function setUp() {
  const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
  let count = 0;
  const query = cachedQuery(['settings'], {
    ...prepared,
    all: (db, values) => {
      count += 1;
      return prepared.all(db, values);
    },
  });
  const insert = (db: Queries, name: string) => db.insertInto('settings').values({ name, value: '' }).execute();
  return { a, b, query, insert, executions: () => count };
}

describeNeeding(needsPostgres, 'a transaction', () => {
  it('reads rows that others might have changed each time', async () => {
    const { a, b, query, insert } = await setUp();
    await a.transaction().execute(async (trx) => {
      expect(await query(trx, {})).toEqual([]);
      await insert(b, 'x1');
      expect(await query(trx, {})).toEqual([{ name: 'x1' }]);
    });
  });

  it('locks a row again after the part that had locked it was taken back', async () => {
    const { a, b } = await setUp();
    await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    const isFree = () => b.transaction().execute((trx) => lockRowNow(trx, 'teams', 't'));
    await a.atomically(async ({ store }) => {
      const part = store.transaction().execute(async (trx) => {
        await lockRows(trx, 'teams', ['t']);
        await lockRows(trx, 'teams', ['t']);
        await trx.selectFrom('teams').select('id').execute();
        expect(await isFree()).toBe(false);
        throw new Error('taken back');
      });
      await expect(part).rejects.toThrow('taken back');
      expect(await isFree()).toBe(true);
      await store.transaction().execute(async (trx) => {
        await lockRows(trx, 'teams', ['t']);
        await trx.selectFrom('teams').select('id').execute();
        expect(await isFree()).toBe(false);
      });
    });
  });

  it('does not read rows that it has learned, until it changes or forgets them', async () => {
    const { a, query, insert, executions } = await setUp();
    await a.transaction().execute(async (trx) => {
      query.learn(trx, {}, [{ name: 'x0' }]);
      expect([await query(trx, {}), executions()]).toEqual([[{ name: 'x0' }], 0]);
      await insert(trx, 'x1');
      expect([await query(trx, {}), executions()]).toEqual([[{ name: 'x1' }], 1]);
      query.learn(trx, {}, []);
      query.learn(trx, {}, undefined);
      expect([await query(trx, {}), executions()]).toEqual([[{ name: 'x1' }], 2]);
    });
    expect(await a.transaction().execute((trx) => query(trx, {}))).toEqual([{ name: 'x1' }]);
  });

  it('locks a run before its job', async () => {
    const { a, b } = await setUp();
    await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await insertRuns(a, 't');
    await enqueueJob(a, { kind: 'run', subjectId: 't 0', dueAt: 0, lane: 't' });
    const { id } = await a.selectFrom('jobs').select('id').executeTakeFirstOrThrow();
    /** Whether the run and the job are free while the first node waits for the one of them that the second node has locked. */
    const freeMeanwhile = async (table: 'runs' | 'jobs', rowId: string): Promise<[run: boolean, job: boolean]> => {
      const { locked, free } = await b.transaction().execute(async (trx) => {
        await lockRowNow(trx, table, rowId);
        const lock = a.transaction().execute(async (other) => {
          await lockRunAndJob(other, 't 0', id);
          await other.selectFrom('jobs').select('id').execute();
        });
        await eventually('the first node waits', async () => (await isLockWaitedFor(b)) || undefined);
        const isFree = (name: 'runs' | 'jobs', row: string) => b.transaction().execute((other) => lockRowNow(other, name, row));
        return { locked: lock, free: [await isFree('runs', 't 0'), await isFree('jobs', id)] as [boolean, boolean] };
      });
      await locked;
      return free;
    };
    expect(await freeMeanwhile('runs', 't 0')).toEqual([false, true]);
    expect(await freeMeanwhile('jobs', id)).toEqual([false, false]);
  });
});

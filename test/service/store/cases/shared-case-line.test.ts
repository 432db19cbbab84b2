/** The next case of a queue, while another node changes one. */
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { admitDueCases, nextCase } from '../../../../src/service/store/cases/case-line.ts';
import { changeCase, insertCases } from '../../../../src/service/store/cases/cases.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import { PostgresTransactions } from '../../../../src/service/store/database/postgres/transactions.ts';
import { lockRows } from '../../../../src/service/store/database/row-locks.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const time = '2026-08-01T00:00:00.000Z';
const place = { queueId: 'q', agentId: 'x', ownOnly: false };

/** Two nodes, and a queue with two cases that are or are not postponed. */
async function twoCases(postponed_to: string | null = null): Promise<[Store, Store]> {
  const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
  await insertTeam(a, { id: 't', name: 'T', created_at: time });
  await insertRuns(a, 't');
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Q', ${time}, ${time})`.execute(a);
  const newCase = (id: string) => ({
    ...{ id, title: id, data: '', search_text: id, status: 'pending' as const, priority: 0, delegated_agent_id: null },
    ...{ claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to, created_at: time, updated_at: time },
  });
  await insertCases(a, 'q', [newCase('first'), newCase('second')]);
  return [a, b];
}

/** What another node finds while one has locked the first case. */
const whileLocked = <Found>([a, b]: readonly [Store, Store], find: (trx: Queries) => Promise<Found>): Promise<Found> =>
  a.transaction().execute(async (trx) => {
    await lockRows(trx, 'cases', ['first']);
    // The lock is sent with the next statement.
    await trx.selectFrom('cases').select('id').execute();
    return b.transaction().execute(find);
  });

describeNeeding(needsPostgres, 'the next case', () => {
  it('is not waited for while another transaction is changing it', async () => {
    expect(await whileLocked(await twoCases(), (trx) => nextCase(trx, place))).toBe('locked');
  });

  it('is another one if the first was taken before it could be locked', async () => {
    const [a, b] = await twoCases();
    const { run } = PostgresTransactions.prototype;
    let isTaken = false;
    const spy = vi.spyOn(PostgresTransactions.prototype, 'run').mockImplementation(async function (
      this: PostgresTransactions,
      transaction,
      query,
    ) {
      if (query.sql.endsWith('skip locked') && !isTaken) {
        isTaken = true;
        await changeCase(a, 'first', { status: 'pending', runId: null }, { claimed_by_run_id: 't 0' });
      }
      return run.call(this, transaction, query);
    });
    afterTest(async () => spy.mockRestore());
    expect(await b.transaction().execute((trx) => nextCase(trx, place))).toMatchObject({ id: 'second' });
  });

  it('is one that was postponed, unless another transaction is changing it', async () => {
    const nodes = await twoCases('2026-07-31T00:00:00.000Z');
    const admit = (trx: Queries) => admitDueCases(trx, 'q', time);
    expect(await whileLocked(nodes, admit)).toBe(false);
    const ranks = async () => (await nodes[0].selectFrom('cases').select(['id', 'line_rank']).orderBy('id').execute()) as object[];
    expect(await ranks()).toEqual([
      { id: 'first', line_rank: 2 },
      { id: 'second', line_rank: 0 },
    ]);
    expect(await nodes[0].transaction().execute(admit)).toBe(true);
    expect(await ranks()).toMatchObject([{ line_rank: 0 }, { line_rank: 0 }]);
  });
});

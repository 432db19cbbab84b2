/** The next case of a queue, while another node takes one. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { nextCase } from '../../../../src/service/store/cases/case-line.ts';
import { changeCase, insertCases } from '../../../../src/service/store/cases/cases.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { lockRows } from '../../../../src/service/store/database/row-locks.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

describeNeeding(needsPostgres, 'the next case', () => {
  it('is another one if the first was taken while it was waited for', async () => {
    const [a, b, observer] = (await openNodes('a', 'b', 'observer')) as [Store, Store, Store];
    const time = '2026-08-01T00:00:00.000Z';
    await insertTeam(a, { id: 't', name: 'T', created_at: time });
    await insertRuns(a, 't');
    await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Q', ${time}, ${time})`.execute(a);
    const newCase = (id: string) => ({
      ...{ id, title: id, data: '', search_text: id, status: 'pending' as const, priority: 0, delegated_agent_id: null },
      ...{ claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to: null, created_at: time, updated_at: time },
    });
    await insertCases(a, 'q', [newCase('first'), newCase('second')]);
    let next: Promise<string | undefined> | undefined;
    await a.transaction().execute(async (trx) => {
      await lockRows(trx, 'cases', ['first']);
      // The lock is sent with the next statement.
      await trx.selectFrom('cases').select('id').execute();
      let isOver = false;
      next = b
        .transaction()
        .execute(async (other) => (await nextCase(other, { queueId: 'q', agentId: 'x', ownOnly: false }))?.id)
        .finally(() => {
          isOver = true;
        });
      next.catch(() => undefined);
      while (!isOver && !(await isLockWaitedFor(observer))) await new Promise((resolve) => setImmediate(resolve));
      await changeCase(trx, 'first', { status: 'pending', runId: null }, { claimed_by_run_id: 't 0' });
    });
    expect(await next).toBe('second');
  });
});

/** Names of teams, while two nodes decide on the same one. */
import { expect, it } from 'vitest';
import { findTeamNamed, insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';

describeNeeding(needsPostgres, 'the name of a team', () => {
  it('is taken by one of two nodes that look for it at the same moment', async () => {
    const [a, b, observer] = (await openNodes('a', 'b', 'observer')) as [Store, Store, Store];
    let other: Promise<string | undefined> | undefined;
    await a.transaction().execute(async (trx) => {
      expect(await findTeamNamed(trx, 'T')).toBeUndefined();
      let isOver = false;
      other = b
        .transaction()
        .execute(async (trx) => (await findTeamNamed(trx, 'T'))?.id)
        .finally(() => {
          isOver = true;
        });
      other.catch(() => undefined);
      while (!isOver && !(await isLockWaitedFor(observer))) await new Promise((resolve) => setImmediate(resolve));
      expect(isOver).toBe(false);
      await insertTeam(trx, { id: 't', name: 'T', created_at: '2026-08-01T00:00:00.000Z' });
    });
    expect(await other).toBe('t');
  });
});

/** Which node may work with the files of a sandbox, on a database of several nodes. */
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { holdWorkspace } from '../../../../src/service/store/runs/workspace-files.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';

describeNeeding(needsPostgres, 'a node that wants to work with the files of a sandbox', () => {
  it('waits for the one that is changing them, and learns which version they have then', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await a.insertInto('sandboxes').values({ id: 's', team_id: 't', created_at: '2026-07-18T09:00:00.000Z', holder: 'b' }).execute();
    let claim: ReturnType<typeof holdWorkspace> | undefined;
    await a.transaction().execute(async (trx) => {
      await trx.updateTable('sandboxes').set({ holder: 'a', version: 7 }).where('id', '=', 's').execute();
      claim = b.transaction().execute((other) => holdWorkspace(other, 's', { jobId: 'j', node: 'b', jobKind: 'run' }));
      let isAnswered = false;
      const note = (): void => {
        isAnswered = true;
      };
      claim.then(note, note);
      await eventually('the node waits', async () => isAnswered || (await isLockWaitedFor(a)));
    });
    expect(await claim).toEqual({ version: 7, wasElsewhere: true });
    expect(await a.selectFrom('sandboxes').select('holder').executeTakeFirst()).toEqual({ holder: 'b' });
  });
});

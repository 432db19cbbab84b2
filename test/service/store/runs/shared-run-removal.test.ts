/** The removal of runs on a database of several nodes. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { insertRunFile } from '../../../../src/service/store/runs/run-files.ts';
import { removeRuns } from '../../../../src/service/store/runs/run-removal.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { isLockWaitedFor, openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

describeNeeding(needsPostgres, 'the removal of a run', () => {
  it('waits for a node that is still adding a file to it, and includes the file', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    await insertTeam(a, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
    await insertRuns(a, 't');
    const runId = 't 0';
    const ended = '2026-07-18T10:00:00.000Z';
    await a.updateTable('runs').set({ status: 'completed', completed_at: ended }).where('id', '=', runId).execute();
    const names = { name: 'late.txt', mime_type: 'text/plain', sha256: '' };
    const file = { id: randomUUID(), run_id: runId, turn: 1, event_id: 'e', ...names, size: 1, created_at: ended };
    let removal: ReturnType<typeof removeRuns> | undefined;
    let attempts = 0;
    await a.transaction().execute(async (trx) => {
      await trx.selectFrom('runs').select('id').where('id', '=', runId).forNoKeyUpdate().execute();
      await insertRunFile(trx, file);
      removal = b.transaction().execute((other) => {
        attempts += 1;
        return removeRuns(other, [runId], { before: ended, jobKinds: ['run'] });
      });
      removal.catch(() => undefined);
      await eventually('the removal waits', () => isLockWaitedFor(a));
    });
    expect((await removal)?.fileKeys).toEqual([`${runId}/${file.id}`]);
    expect(attempts).toBe(1);
  });
});

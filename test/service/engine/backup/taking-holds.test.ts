/** Taking a hold: one at a time, and a failed attempt must not stop anything for good. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { BackupHolds } from '../../../../src/service/engine/backup/backup-hold.ts';
import { fileCopies } from '../../../../src/service/store/database/sqlite/file-hold.ts';
import { openUnchanged } from '../../../../src/service/store/database/sqlite/open.ts';
import { promptly } from '../../../support/promptly.ts';
import { temporaryDirectory, whenDone } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';

async function holdsOf() {
  const store = await openUnchanged(await temporaryDirectory());
  const holds = new BackupHolds({ copies: fileCopies(store), clock: new ManualClock(), log: () => undefined });
  whenDone(async () => {
    holds.close();
    await store.destroy();
  });
  return { store, holds };
}

describe('a backup hold', () => {
  it('cannot be taken while another one is being taken', async () => {
    const { holds } = await holdsOf();
    const [first, second] = await Promise.allSettled([holds.take(), holds.take()]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { holds: 'everything' } });
    expect(second).toMatchObject({ status: 'rejected', reason: { status: 409, error: 'backup_running' } });
  });

  it('that cannot be taken lets runs and removals continue, and the next attempt is made', async () => {
    const { store, holds } = await holdsOf();
    // The driver is created by the first query, and only then can it be destroyed.
    await sql`select 1`.execute(store);
    await store.destroy();
    await expect(holds.take()).rejects.toThrow();
    await promptly(() => holds.runs.pass(undefined, async () => undefined));
    await promptly(() => holds.removals.pass(undefined, async () => undefined));
    await expect(holds.take()).rejects.not.toMatchObject({ error: 'backup_running' });
  });
});

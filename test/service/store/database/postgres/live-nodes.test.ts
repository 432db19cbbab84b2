/** A database that nodes use is refused for what needs it alone; a process that is just leaving does not count. */
import pg from 'pg';
import { expect, it } from 'vitest';
import { refuseConnectedNodes } from '../../../../../src/service/store/database/postgres/live-nodes.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { afterTest } from '../../../../support/temporary.ts';
import { openNode } from '../../../helpers/postgres.ts';

describeNeeding(needsPostgres, 'a connection of another process', () => {
  it('is refused while it lasts, and waited for when it ends', async () => {
    const url = await newDatabase();
    const store = await openNode(url, 'own');
    const other = new pg.Client({ connectionString: url, application_name: 'aops/other' });
    await other.connect();
    let hasEnded = false;
    afterTest(async () => void (hasEnded || (await other.end())));
    await expect(refuseConnectedNodes(store, 'own')).rejects.toMatchObject({
      code: 'nodes_running',
      message: 'The database is in use by other.',
    });
    // Its answer comes after the first look, so the connection is still there at that time.
    const refusal = refuseConnectedNodes(store, 'own');
    await other.query('select pg_sleep(0.1)');
    await other.end();
    hasEnded = true;
    await refusal;
  });
});

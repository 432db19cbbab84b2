/** A database behind PgBouncer, as docs/several-nodes.md describes it. */
import pg from 'pg';
import { expect, it } from 'vitest';
import { openPostgres } from '../../../../../src/service/store/database/postgres/open.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPgBouncer, startPgBouncer } from '../../../../support/pgbouncer.ts';
import { newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode } from '../../../helpers/postgres.ts';

const ignored = { ignore_startup_parameters: 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout' };

/** A database that limits all sessions itself. */
async function limitedDatabase(): Promise<string> {
  const url = await newDatabase();
  const client = new pg.Client(url);
  await client.connect();
  const name = new URL(url).pathname.slice(1);
  for (const limit of ["statement_timeout = '30s'", "lock_timeout = '12s'", "idle_in_transaction_session_timeout = '10s'"])
    await client.query(`alter database "${name}" set ${limit}`);
  await client.end();
  return url;
}

const refusalOf = (url: string): Promise<unknown> =>
  openPostgres({ url, instanceId: 'a' }).then(
    () => undefined,
    (error: Error) => error.message,
  );

describeNeeding(needsPgBouncer, 'a database behind PgBouncer', () => {
  it('can be used if each client has a session, and the database limits it', async () => {
    const database = await limitedDatabase();
    const url = await startPgBouncer(database, { pool_mode: 'session', ...ignored });
    const [behind, direct] = [await openNode(url, 'a'), await openNode(database, 'b')];
    const noticed: (string | undefined)[] = [];
    behind.changes.onRemoteChange((table) => noticed.push(table));
    await direct.updateTable('settings').set({ value: 'v' }).where('name', '=', 'n').execute();
    await eventually('the node behind it has noticed a change of the other', () => noticed.includes('settings'));
  });

  it.each(['transaction', 'statement'])('is refused if clients share sessions (pool_mode = %s)', async (mode) => {
    const url = await startPgBouncer(await limitedDatabase(), { pool_mode: mode, ...ignored });
    expect(await refusalOf(url)).toMatch(/does not keep a session for each client: several of them use the same session\.$/);
  });

  it('is refused without limits', async () => {
    const database = await newDatabase();
    expect(await refusalOf(await startPgBouncer(database, { pool_mode: 'session' }))).toMatch(/does not accept the limits of a session\.$/);
    expect(await refusalOf(await startPgBouncer(database, { pool_mode: 'session', ...ignored }))).toMatch(
      /does not pass on the limits of a session\.$/,
    );
  });
});

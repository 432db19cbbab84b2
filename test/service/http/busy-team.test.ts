/** A team that sends many changes at the same time, on a database with several nodes: others are served as before. */
import pg from 'pg';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { startTestService } from '../../support/service.ts';
import { afterTest } from '../../support/temporary.ts';

describeNeeding(needsPostgres, 'more changes than connections that wait for the lock of their team', () => {
  it('do not keep reads and other changes waiting', async () => {
    const url = await newDatabase();
    const service = await startTestService({ database: { url, ownerToken: true } });
    const agent = await service.agent('- say: hi');
    const run = await service.start(agent);
    await service.until(run, 'completed');
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    afterTest(() => other.end());
    await other.query('begin');
    await other.query('select id from teams where id = $1 for no key update', [service.service.teamId]);
    const starts = Array.from({ length: 20 }, () => service.start(agent));
    await eventually('they wait', async () => {
      const { rowCount } = await other.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return Number(rowCount) > 1;
    });
    expect((await service.get(run)).run.status).toBe('completed');
    const creation = await fetch(`${service.service.url}/v2/teams/${service.service.teamId}/queues`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'invoices' }),
    });
    expect(creation.status).toBe(201);
    await other.query('rollback');
    expect(new Set(await Promise.all(starts)).size).toBe(20);
  });
});

/** A team that sends many changes or searches at the same time, on a database with several nodes: others are served as before. */
import pg from 'pg';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { startTestService } from '../../support/service.ts';
import { afterTest } from '../../support/temporary.ts';

/** A service with a run, and a connection to its database whose transaction can keep others waiting. */
async function serviceWithRun() {
  const url = await newDatabase();
  const service = await startTestService({ database: { url, ownerToken: true } });
  const agent = await service.agent('- say: hi');
  const run = await service.start(agent);
  await service.until(run, 'completed');
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  afterTest(() => other.end());
  await other.query('begin');
  const { teamId, token } = service.service;
  const send = (path: string, body?: object) =>
    fetch(`${service.service.url}/v2/${path.replace('TEAM', teamId)}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  /** Resolves when requests wait for the transaction. */
  const untilWaiting = () =>
    eventually('they wait', async () => {
      const { rowCount } = await other.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return Number(rowCount) > 1;
    });
  return { service, agent, run, other, send, untilWaiting };
}

describeNeeding(needsPostgres, 'more searches than connections', () => {
  it.each([
    ['runs', 'evaluations', async () => 'teams/TEAM/runs?search=hi'],
    [
      'cases',
      'cases',
      async (send: Awaited<ReturnType<typeof serviceWithRun>>['send']) => {
        const { queue } = (await (await send('teams/TEAM/queues', { name: 'invoices' })).json()) as { queue: { id: string } };
        return `queues/${queue.id}/cases?search=hi`;
      },
    ],
  ])('of %s do not keep reads and changes waiting', async (_, table, pathOf) => {
    const { service, run, other, send, untilWaiting } = await serviceWithRun();
    const path = await pathOf(send);
    await other.query(`lock table ${table} in access exclusive mode`);
    const searches = Array.from({ length: 20 }, () => send(path));
    await untilWaiting();
    expect((await service.get(run)).run.status).toBe('completed');
    expect((await send('teams/TEAM/queues', { name: 'orders' })).status).toBe(201);
    await other.query('rollback');
    expect(new Set((await Promise.all(searches)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describeNeeding(needsPostgres, 'more changes than connections that wait for the lock of their team', () => {
  it('do not keep reads and other changes waiting', async () => {
    const { service, agent, run, other, send, untilWaiting } = await serviceWithRun();
    await other.query('select id from teams where id = $1 for no key update', [service.service.teamId]);
    const starts = Array.from({ length: 20 }, () => service.start(agent));
    await untilWaiting();
    expect((await service.get(run)).run.status).toBe('completed');
    expect((await send('teams/TEAM/queues', { name: 'invoices' })).status).toBe(201);
    await other.query('rollback');
    expect(new Set(await Promise.all(starts)).size).toBe(20);
  });
});

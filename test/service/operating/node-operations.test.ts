/** What a load balancer and Prometheus learn about a node, and what clients get while its database is away or too busy. */
import { expect, it } from 'vitest';
import { errorAnswer } from '../../../src/service/http/answer.ts';
import { createPool } from '../../../src/service/store/database/postgres/connections.ts';
import { connectPostgres } from '../../../src/service/store/database/postgres/open.ts';
import { PostgresTransactions } from '../../../src/service/store/database/postgres/transactions.ts';
import { DatabaseBusyError } from '../../../src/service/store/database/unavailable.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';
import { startApi } from '../helpers/service.ts';

interface Ready {
  status: string;
  checks: Record<string, string>;
}

describeNeeding(needsPostgres, 'a node', () => {
  it('is not ready while it cannot reach the database or receive notifications', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    const api = await startApi({ database: { url: proxy.url, maxConnections: 3 } });
    const ready = async () => {
      const response = await fetch(`${api.service.url}/readyz`);
      return { code: response.status, ...((await response.json()) as Ready) };
    };
    expect(await ready()).toMatchObject({ code: 200, checks: { store: 'ok', worker: 'ok', notifications: 'ok' } });
    proxy.cut();
    await eventually('both are reported', async () => {
      const { code, checks } = await ready();
      return code === 503 && checks.store === 'failed' && checks.notifications === 'failed';
    });
    proxy.restore();
    await eventually('it is ready again', async () => (await ready()).code === 200);
  });

  it('reports its connections and the delay of notifications', async () => {
    const api = await startApi({ database: { url: await newDatabase(), maxConnections: 3 } });
    await api.agent();
    const metrics = await eventually('a notification has come back', async () => {
      const text = await (await fetch(`${api.service.url}/metrics`)).text();
      return Number(/^aops_database_notification_lag_max_seconds (\S+)$/m.exec(text)?.[1]) > 0 && text;
    });
    expect(metrics).toMatch(/^aops_database_connections\{state="used"\} \d+$/m);
    expect(metrics).toContain('\naops_database_connections_max 4\n');
    expect(metrics).toContain('\naops_database_queue 0\n');
    expect(metrics).toContain('\naops_database_listening 1\n');
    expect(metrics).toMatch(/^aops_jobs_claimed_total\{kind="forget_runs"\} \d+$/m);
  });

  it('knows whether its connections are encrypted, and only those that leave the machine are a problem', async () => {
    const { connections, store } = await connectPostgres({ url: await newDatabase(), instanceId: 'a' });
    afterTest(() => store.destroy());
    expect(connections).toMatchObject({ isReadable: false, maxCount: 11 });
    expect(connections.inWords).not.toContain('aops@');
  });

  it('answers 503 with Retry-After when no connection becomes free in time', async () => {
    const pool = createPool({ connectionString: await newDatabase() }, 1);
    afterTest(() => pool.end());
    const transactions = new PostgresTransactions(pool, () => undefined);
    const open = await transactions.begin();
    // From here on, each caller waits.
    pool.options.connectionTimeoutMillis = 20;
    const error: unknown = await transactions.begin().catch((reason: unknown) => reason);
    await transactions.rollBack(open);
    expect(error).toBeInstanceOf(DatabaseBusyError);
    const { status, headers, body } = errorAnswer(error);
    expect([status, headers['Retry-After'], JSON.parse(body as string)]).toEqual([
      503,
      '5',
      { error: 'database_busy', message: 'The database of this service is too busy.' },
    ]);
  });
});

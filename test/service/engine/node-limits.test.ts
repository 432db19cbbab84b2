/** Limits that hold for all nodes together: of requests, of attempts to sign in, and of the use of a refresh token. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { LocalRateLimiter } from '../../../src/service/http/rate-limit.ts';
import { SharedRateLimiter } from '../../../src/service/http/shared-rate-limit.ts';
import { RateWindows } from '../../../src/service/store/access/rate-windows.ts';
import { AuthorizationServer } from '../../support/authorization-server.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { needsPostgres, newDatabase } from '../../support/postgres.ts';
import { describeNeeding } from '../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { openNodes } from '../helpers/postgres.ts';
import { type Api, startApi, type TestOptions } from '../helpers/service.ts';

async function startNodes({ clock = new ManualClock(), ...options }: TestOptions & { clock?: ManualClock } = {}): Promise<Api[]> {
  const url = await newDatabase();
  const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
  const start = () => startApi({ clock, ...options, database: { url, maxConnections: 3, secretKeyFile } });
  // One after the other, because the first one creates the team.
  return [await start(), await start()];
}

/** Limiters of two nodes, and how often each of them has asked the database. */
async function twoLimiters(limit: number) {
  const stores = await openNodes('a', 'b');
  const clock = new ManualClock(0);
  return stores.map((store) => {
    const node = { queries: 0, clock, windows: new RateWindows(store) };
    const take: RateWindows['take'] = (...values) => {
      node.queries += 1;
      return node.windows.take(...values);
    };
    const limiter = new SharedRateLimiter({ limit, windowSeconds: 60 }, clock, {
      name: 'requests',
      windows: Object.assign(Object.create(node.windows) as RateWindows, { take }),
    });
    const accepts = async (caller = 'c') => {
      try {
        await limiter.take(caller);
        return true;
      } catch (error) {
        expect(error).toMatchObject({ status: 429, error: 'rate_limited' });
        return false;
      }
    };
    return Object.assign(node, { limiter, accepts });
  }) as [LimitedNode, LimitedNode];
}

interface LimitedNode {
  queries: number;
  clock: ManualClock;
  windows: RateWindows;
  limiter: SharedRateLimiter;
  accepts(caller?: string): Promise<boolean>;
}

describeNeeding(needsPostgres, 'a rate limit of several nodes', () => {
  it('counts the requests of a credential to all of them', async () => {
    const [a, b] = (await startNodes({ rateLimit: { limit: 5, windowSeconds: 60 } })) as [Api, Api];
    const caller = a.service.token;
    const answers = [];
    for (const api of [a, b, a, b, a, b, a]) answers.push(await api.as(caller).call('listAgents'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(answers.slice(0, 5).map(({ headers }) => headers['ratelimit-remaining'])).toEqual(['4', '3', '2', '1', '0']);
  });

  it('counts wrong client secrets that are sent to any of them', async () => {
    const nodes = await startNodes();
    const attempt = (api: Api) =>
      api.send('POST', '/oauth/token', {
        anonymous: true,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials&client_id=unknown&client_secret=wrong',
      });
    const statuses = [];
    for (let index = 0; index < 12; index++) statuses.push((await attempt(nodes[index % 2] as Api)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
  });

  it('accepts no more than the limit in a window, with one query for many requests', async () => {
    const [a, b] = await twoLimiters(1_000);
    const accepted = [];
    for (let index = 0; index < 1_100; index++) accepted.push(await (index % 2 === 0 ? a : b).accepts());
    const count = accepted.filter(Boolean).length;
    expect(count).toBeLessThanOrEqual(1_000);
    // What a node has taken and does not use is lost to the other one.
    expect(count).toBeGreaterThanOrEqual(990);
    expect(a.queries + b.queries).toBeLessThan(150);
    expect([await a.accepts('other'), await b.accepts('other')]).toEqual([true, true]);
    a.clock.advance(60_000);
    expect([await a.accepts(), await b.accepts()]).toEqual([true, true]);
  });

  it('keeps no more from the others than it has used itself', async () => {
    const [a, b] = await twoLimiters(1_000);
    for (let index = 0; index < 10; index++) expect(await a.accepts()).toBe(true);
    let count = 0;
    while (await b.accepts()) count += 1;
    expect(count).toBeGreaterThanOrEqual(1_000 - 2 * 10);
  });

  it('accepts as many requests at the same time as one after the other', async () => {
    const [a, b] = await twoLimiters(30);
    const accepted = await Promise.all(Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? a : b).accepts()));
    const count = accepted.filter(Boolean).length;
    expect(count).toBeLessThanOrEqual(30);
    expect(count).toBeGreaterThanOrEqual(28);
  });

  it('reports the same as that of a single process', async () => {
    const [{ limiter, clock }] = await twoLimiters(3);
    const local = new LocalRateLimiter({ limit: 3, windowSeconds: 60 }, clock);
    for (let index = 0; index < 3; index++) {
      expect(limiter.headers('c')).toEqual(local.headers('c'));
      await limiter.take('c');
      local.take('c');
    }
    expect(limiter.headers('c')).toEqual(local.headers('c'));
  });

  it('reports what this node has accepted, not what it has taken in advance', async () => {
    const [{ limiter, accepts }] = await twoLimiters(1_000);
    for (let count = 1; count <= 40; count++) {
      await accepts();
      expect(limiter.headers('c')).toMatchObject({ 'RateLimit-Remaining': String(1_000 - count) });
    }
  });

  it('forgets a window of the future, once the clock was set back', async () => {
    const [a, b] = await twoLimiters(3);
    a.clock.advance(3_600_000);
    for (let index = 0; index < 3; index++) expect(await a.accepts()).toBe(true);
    expect(await b.accepts()).toBe(false);
    a.clock.set(0);
    expect([await a.accepts(), await b.accepts()]).toEqual([true, true]);
    // What was taken then still counts together.
    expect([await a.accepts(), await b.accepts()]).toEqual([true, false]);
  });

  it('forgets counts some time after their window', async () => {
    const [{ accepts, windows, clock }, b] = await twoLimiters(1);
    await accepts();
    await windows.removeEnded(clock.now() + 60_000);
    expect(await b.accepts()).toBe(false);
    await windows.removeEnded(clock.now() + 200_000);
    expect(await windows.take('requests', 'c', { endsAt: 60_000, count: 1 })).toBe(1);
  });
});

describeNeeding(needsPostgres, 'the access token of a connection', () => {
  it('is renewed once for all nodes, because a refresh token is valid for a single use', async () => {
    const clock = new ManualClock();
    const nodes = await startNodes({ clock, connections: { allow: ['127.0.0.1'] } });
    const [a] = nodes as [Api];
    const [server, issuer] = [await McpServer.start(), await AuthorizationServer.start()];
    afterTest(async () => {
      await server.close();
      await issuer.close();
    });
    issuer.protect(server);
    const { authorization_url: url } = await a.ok('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url: server.url } });
    await (await fetch(url)).text();
    const [connection] = (await a.ok('listConnections')).integrations;
    const list = (api: Api) => api.ok('listConnectionTools', { params: { connection_id: String(connection?.id) } });
    clock.advance(3_600_000);
    const lists = await Promise.all([...nodes, ...nodes, ...nodes].map(list));
    expect(lists.map(({ success }) => success)).toEqual(lists.map(() => true));
    expect(issuer.forms.map(({ grant_type }) => grant_type)).toEqual(['authorization_code', 'refresh_token']);
  });
});

/** Pushes from a human request to the browser: who gets them, what they contain, and when they end. */
import { describe, expect, it } from 'vitest';
import { followUp } from '../../../../src/service/engine/push/delivery.ts';
import { pageSessionLife } from '../../../../src/service/page/sessions.ts';
import { PushService } from '../../../support/push-service.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { type Answer, type Api, config, startApi, type TestOptions } from '../../helpers/service.ts';
import { storedText } from '../../helpers/stored.ts';

const ask: Behaviour = async (host) =>
  host.answer('q') === undefined
    ? { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay 120 EUR to Acme?' } }
    : { status: 'completed' };

const start = (options: TestOptions = {}) => startApi({ behaviours: { ask }, ...options });
const failure = ({ status, body }: Answer) => [status, (body as { error?: string }).error];

/** Calls /page/push as the page does. */
const push = (api: Api, method: string, body?: unknown, headers = {}) =>
  api.send(method, '/page/push', {
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...headers },
  }) as Promise<Answer<{ key: string; subscribed: boolean }>>;

async function signedIn(api: Api): Promise<Api> {
  const { code } = await api.ok('createPageCode');
  const headers = { 'content-type': 'application/json' };
  const answer = await api.send('POST', '/page/session', { anonymous: true, headers, body: JSON.stringify({ code }) });
  return api.as((answer.body as { token: string }).token);
}

/** Starts a run that waits for an answer, and returns its ID. */
async function waitingRun(api: Api): Promise<string> {
  const { agent } = await api.ok('createAgent', {
    body: { name: `Clerk ${Math.random()}`, build: { name: 'first', config: config('ask') } },
  });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
  for (;;) {
    const { run: current } = await api.ok('getRun', { params: { run_id: run.id } });
    if (current.status === 'waiting') return run.id;
  }
}

async function answer(api: Api, run: string): Promise<void> {
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: run } });
  await api.ok('respondToHumanRequest', { params: { run_id: run, request_id: request?.id as string }, body: { approved: true } });
}

describe('a push', () => {
  it('tells a subscribed browser about a new request, encrypted, signed, and with nothing but what a notification shows', async () => {
    const [api, service] = [await start(), await PushService.start()];
    const page = await signedIn(api);
    const subscription = service.subscribe();
    const { key } = (await push(page, 'GET')).body;
    expect((await push(page, 'PUT', subscription)).body).toEqual({ subscribed: true });
    expect((await push(page, 'POST', { endpoint: subscription.endpoint })).body).toEqual({ subscribed: true });
    const run = await waitingRun(api);
    const [first] = await service.count(1);
    const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: run } });
    expect(first?.payload).toEqual({ title: 'Pay 120 EUR to Acme?', run_number: 1, link: `/#/runs/${run}`, request_id: request?.id });
    expect(first?.headers).toMatchObject({ 'content-encoding': 'aes128gcm', ttl: '86400', urgency: 'high' });
    expect(first?.sender).toMatchObject({ aud: service.url, key, sub: 'mailto:operator@aops.invalid' });
    // Push services refuse signatures for more than a day, and a push may have to wait for its browser.
    expect(first?.sender.exp).toBeLessThanOrEqual(Date.now() / 1_000 + 86_400);
    expect(first?.sender.exp).toBeGreaterThan(Date.now() / 1_000 + 3_600);
    // It is turned off for this browser alone.
    expect((await push(page, 'DELETE', { endpoint: subscription.endpoint })).body).toEqual({ subscribed: false });
    await push(page, 'PUT', service.subscribe());
    await waitingRun(api);
    expect((await service.count(2)).map(({ path }) => service.url + path === subscription.endpoint)).toEqual([true, false]);
  });

  it('is sent again with each reminder of the request', async () => {
    const clock = new ManualClock();
    const [api, service] = [await start({ clock }), await PushService.start()];
    await push(await signedIn(api), 'PUT', service.subscribe());
    await waitingRun(api);
    await service.count(1);
    clock.advance(600_000);
    await api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: 600 } });
    const [first, second] = await service.count(2);
    expect(second?.payload).toEqual(first?.payload);
  });

  it('stores no endpoint and no key in plain text', async () => {
    const [api, service] = [await start(), await PushService.start()];
    const subscription = service.subscribe();
    await push(await signedIn(api), 'PUT', subscription);
    await waitingRun(api);
    await service.count(1);
    await api.service.close();
    const text = await storedText(api.dataDirectory);
    for (const secret of [subscription.endpoint, subscription.keys.auth, '"kty"', '"d":']) expect(text).not.toContain(secret);
  });

  it('does not reach a session that has ended, was revoked, or has expired', async () => {
    const clock = new ManualClock();
    const [api, service] = [await start({ clock }), await PushService.start()];
    const [page, expiring] = [await signedIn(api), await signedIn(api)];
    const token = await api.withToken({ scopes: ['runs:read'] });
    const otherTeam = await api.inNewTeam();
    for (const session of [page, token, expiring, otherTeam]) expect((await push(session, 'PUT', service.subscribe())).status).toBe(200);
    await waitingRun(api);
    await service.count(3);
    await page.send('DELETE', '/page/session');
    const { credential } = await token.ok('getLocalCredential');
    await api.ok('revokeLocalToken', { params: { token_id: credential.id } });
    await waitingRun(api);
    expect((await service.count(4)).length).toBe(4);
    clock.advance(pageSessionLife);
    await waitingRun(api);
    // The other team has its own requests.
    await waitingRun(otherTeam);
    const pushes = await service.count(5);
    expect(pushes.length).toBe(5);
    expect(new Set(pushes.slice(3).map(({ path }) => path)).size).toBe(2);
    expect(pushes.slice(0, 4).map(({ path }) => path)).not.toContain(pushes[4]?.path);
  });

  it('is repeated while the push service is busy, until somebody answers the request', async () => {
    const clock = new ManualClock();
    const [api, service] = [await start({ clock }), await PushService.start()];
    const subscription = service.subscribe();
    const path = new URL(subscription.endpoint).pathname;
    service.statuses.set(path, 503);
    await push(await signedIn(api), 'PUT', subscription);
    const run = await waitingRun(api);
    await service.count(1);
    // It asked for two hours.
    await within(7_300_000, clock, async () => service.pushes.length === 2);
    expect(service.pushes[1]?.payload).toEqual(service.pushes[0]?.payload);
    await answer(api, run);
    clock.advance(24 * 3_600_000);
    service.statuses.delete(path);
    const page = await signedIn(api);
    await push(page, 'PUT', subscription);
    await waitingRun(api);
    const pushes = await service.count(3);
    expect(pushes[2]?.payload.run_number).toBe(2);
  });

  it.each([404, 410])('that gets a %i ends the subscription', async (status) => {
    const [api, service] = [await start(), await PushService.start()];
    const page = await signedIn(api);
    const [gone, other] = [service.subscribe(), service.subscribe()];
    service.statuses.set(new URL(gone.endpoint).pathname, status);
    for (const subscription of [gone, other]) await push(page, 'PUT', subscription);
    await waitingRun(api);
    await service.count(2);
    while ((await push(page, 'POST', { endpoint: gone.endpoint })).body.subscribed) await new Promise((resolve) => setImmediate(resolve));
    expect((await push(page, 'POST', { endpoint: other.endpoint })).body).toEqual({ subscribed: true });
  });

  it('is sent after a restart if the service stopped before', async () => {
    const dataDirectory = (await start()).dataDirectory;
    const service = await PushService.start();
    const subscription = service.subscribe();
    const first = await start({ dataDirectory: `${dataDirectory}-2` });
    service.statuses.set(new URL(subscription.endpoint).pathname, 503);
    const page = await signedIn(first);
    const { key } = (await push(page, 'GET')).body;
    await push(page, 'PUT', subscription);
    await waitingRun(first);
    await service.count(1);
    await first.service.close();
    service.statuses.clear();
    const second = await start({ dataDirectory: first.dataDirectory, clock: new ManualClock(Date.now() + 3 * 3_600_000) });
    const pushes = await service.count(2);
    expect(pushes[1]?.sender.key).toBe(key);
    expect((await push(second.as(page.service.token), 'POST', { endpoint: subscription.endpoint })).body).toEqual({ subscribed: true });
  });
});

describe('a subscription', () => {
  it('names a push service that the service knows, over TLS', async () => {
    const lookup = ((_host: string, _options: unknown, done: (error: null, addresses: object[]) => void) =>
      done(null, [{ address: '142.250.74.10', family: 4 }])) as never;
    const api = await start({ push: { allow: [], lookup } });
    const page = await signedIn(api);
    const { keys } = (await PushService.start()).subscribe();
    const subscribe = async (endpoint: unknown, browserKeys: unknown = keys) =>
      failure(await push(page, 'PUT', { endpoint, keys: browserKeys }));
    for (const endpoint of ['http://127.0.0.1:9/x', 'https://10.0.0.1/x', 'https://169.254.169.254/latest', 'https://evil.example/x'])
      expect(await subscribe(endpoint), endpoint).toEqual([400, 'push_host_not_allowed']);
    for (const endpoint of ['http://fcm.googleapis.com/x', 'file:///etc/passwd', 'https://u:p@fcm.googleapis.com/', 7, undefined])
      expect(await subscribe(endpoint), String(endpoint)).toEqual([400, 'invalid_request']);
    for (const invalidKeys of [null, {}, { ...keys, auth: 'x' }])
      expect(await subscribe('https://fcm.googleapis.com/fcm/send/x', invalidKeys)).toEqual([400, 'invalid_request']);
    expect(await subscribe('https://fcm.googleapis.com/fcm/send/x')).toEqual([200, undefined]);
  });

  it('replaces the oldest one of a session that has ten', async () => {
    const [api, service] = [await start(), await PushService.start()];
    const page = await signedIn(api);
    const subscriptions = Array.from({ length: 11 }, () => service.subscribe());
    for (const subscription of subscriptions) await push(page, 'PUT', subscription);
    const isSubscribed = async (index: number) => (await push(page, 'POST', { endpoint: subscriptions[index]?.endpoint })).body.subscribed;
    expect([await isSubscribed(0), await isSubscribed(1), await isSubscribed(10)]).toEqual([false, true, true]);
  });

  it('is refused without a valid token, and with one that may not read human requests', async () => {
    const api = await start();
    const subscription = (await PushService.start()).subscribe();
    expect(failure(await push(api.as('aops_page_x'), 'PUT', subscription))).toEqual([401, 'invalid_token']);
    expect(failure(await api.send('GET', '/page/push', { anonymous: true }))).toEqual([401, 'invalid_token']);
    const token = await api.withToken({ scopes: ['files:read'] });
    expect(failure(await push(token, 'PUT', subscription))).toEqual([403, 'insufficient_scope']);
    // A session can neither see nor remove the subscription of another one.
    const page = await signedIn(api);
    await push(page, 'PUT', subscription);
    const otherPage = await signedIn(api);
    expect((await push(otherPage, 'POST', { endpoint: subscription.endpoint })).body).toEqual({ subscribed: false });
    expect(await push(otherPage, 'DELETE', { endpoint: subscription.endpoint })).toMatchObject({
      status: 200,
      body: { subscribed: false },
    });
    expect((await push(page, 'POST', { endpoint: subscription.endpoint })).body).toEqual({ subscribed: true });
  });
});

it.each([
  [0, 201, undefined, 'drop'],
  [0, 404, undefined, 'unsubscribe'],
  [0, 410, undefined, 'unsubscribe'],
  [0, 400, undefined, 'drop'],
  [0, 408, undefined, 30_000],
  [0, 499, undefined, 'drop'],
  [0, 500, undefined, 30_000],
  [1, null, undefined, 300_000],
  [2, null, undefined, 1_800_000],
  [0, 413, undefined, 'drop'],
  [0, 429, undefined, 30_000],
  [0, 429, 600_000, 600_000],
  [3, null, undefined, 7_200_000],
  [4, 503, undefined, 'drop'],
])('after %i attempts, an answer %s that requests a pause of %s is followed by %s', (tries, status, retryAfter, expected) => {
  const error = status === 201 ? null : 'failed';
  const follow = (random: number) => followUp(tries, { status, error, retryAfter }, { scale: 1, random: () => random });
  expect(follow(0.5)).toBe(expected);
  // Pushes that failed together are not all repeated together.
  if (typeof expected === 'number' && retryAfter === undefined) expect([follow(0), follow(1)]).toEqual([0.8 * expected, 1.2 * expected]);
});

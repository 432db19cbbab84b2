/** Deliveries with a clock that stands still: the log of attempts, the schedule, receivers of every kind, and restarts. */
import { cp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WebhookDelivery } from '../../../../src/interface/types.ts';
import type { Lookup } from '../../../../src/service/outbound/system-lookup.ts';
import { eventually } from '../../../support/eventually.ts';
import { needsSqlite } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { Receiver, rawReceiver, verifyWithLibrary } from '../../../support/webhook-receiver.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { type Api, startApi } from '../../helpers/service.ts';
import { storedRows } from '../../helpers/stored.ts';
import { deliveries, delivery, failure, nextAttempt, receiver } from '../../helpers/webhooks.ts';

const hour = 60 * 60 * 1_000;
const day = 24 * hour;

const random = () => 0.5;

async function subscribe(url: string, options: Parameters<typeof startApi>[0] = {}, events = ['run.completed']) {
  const clock = new ManualClock(Date.now());
  const service = await startApi({ clock, webhooks: { random }, ...options });
  const { webhook } = await service.ok('createTeamWebhook', { body: { url, events: events as never } });
  return { clock, service, webhook };
}

/** A run that completes, which is an event. */
async function causeEvent(service: Api): Promise<void> {
  const run = await service.run();
  await service.until(run.id, 'completed');
}

const wasAttempted = ({ attempt_count }: WebhookDelivery): boolean => attempt_count > 0;

const detail = async (service: Api, { id }: WebhookDelivery) =>
  (await service.ok('getWebhookDelivery', { params: { deliveryId: id } })).delivery;

const wait = (row: WebhookDelivery, from: number): number => Date.parse(row.next_attempt_at as string) - from;

describe('a delivery that fails', () => {
  it('is retried with the same ID, but a new timestamp and signature', async () => {
    const hook = await receiver();
    hook.answer = (response, number) => response.writeHead(number < 3 ? 500 : 200).end();
    const { clock, service } = await subscribe(hook.url);
    const { secret } = await service.ok('getTeamWebhookSecret');
    await causeEvent(service);
    let attemptedDelivery = await delivery(service, wasAttempted);
    verifyWithLibrary(secret, hook.deliveries[0] as never);
    attemptedDelivery = await nextAttempt(service, clock, attemptedDelivery);
    attemptedDelivery = await nextAttempt(service, clock, attemptedDelivery);
    expect(attemptedDelivery).toMatchObject({
      status: 'delivered',
      attempt_count: 3,
      last_status_code: 200,
      last_error: null,
      next_attempt_at: null,
    });
    const values = (name: string) => new Set(hook.deliveries.map(({ headers }) => headers[name])).size;
    expect([values('webhook-id'), values('webhook-timestamp'), values('webhook-signature')]).toEqual([1, 3, 3]);
    expect(new Set(hook.deliveries.map(({ body }) => body.toString())).size).toBe(1);
    const { attempts } = await detail(service, attemptedDelivery);
    expect(attempts.map(({ number, status_code }) => [number, status_code])).toEqual([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
    for (const [index, { started_at }] of attempts.entries())
      expect(hook.deliveries[index]?.headers['webhook-timestamp']).toBe(String(Math.floor(Date.parse(started_at) / 1_000)));
  });

  it('is abandoned after ten attempts over three days', async () => {
    const hook = await receiver();
    hook.answer = (response) => response.writeHead(500).end();
    const { clock, service } = await subscribe(hook.url);
    const startedAt = clock.now();
    await causeEvent(service);
    let attemptedDelivery = await delivery(service, wasAttempted);
    expect(wait(attemptedDelivery, startedAt)).toBe(5_000);
    while (attemptedDelivery.status === 'pending') attemptedDelivery = await nextAttempt(service, clock, attemptedDelivery);
    expect(attemptedDelivery).toMatchObject({
      status: 'failed',
      attempt_count: 10,
      next_attempt_at: null,
      completed_at: expect.any(String),
    });
    expect(clock.now() - startedAt).toBeGreaterThan(3 * day);
    expect(hook.deliveries).toHaveLength(10);
  });
});

describe('a receiver', () => {
  it.each([
    [200, true],
    [204, true],
    [299, true],
    [301, false],
    [307, false],
    [400, false],
    [401, false],
    [404, false],
    [500, false],
  ])('that answers %s counts as %s', async (status, good) => {
    const otherReceiver = await receiver();
    const hook = await receiver();
    hook.answer = (response) => response.writeHead(status, { location: otherReceiver.url }).end();
    const { service } = await subscribe(hook.url);
    await causeEvent(service);
    const attemptedDelivery = await delivery(service, wasAttempted);
    expect(attemptedDelivery).toMatchObject({ status: good ? 'delivered' : 'pending', last_status_code: status });
    if (!good) expect(attemptedDelivery.last_error).toContain(`answered ${status}`);
    if (status === 301) expect(attemptedDelivery.last_error).toContain('redirects are not followed');
    expect(otherReceiver.deliveries).toEqual([]);
  });

  it('that is slow has up to 15 seconds', async () => {
    const hook = await receiver();
    let release: (() => void) | undefined;
    hook.answer = (response, number) => {
      if (number === 1) release = () => response.writeHead(200).end();
    };
    const { clock, service } = await subscribe(hook.url);
    await causeEvent(service);
    await hook.count(1);
    clock.advance(14_900);
    release?.();
    const slowDelivery = await delivery(service, wasAttempted);
    expect(slowDelivery.status).toBe('delivered');
    const [first] = (await detail(service, slowDelivery)).attempts;
    expect(first?.duration_ms).toBe(14_900);

    await causeEvent(service);
    await hook.count(2);
    clock.advance(15_000);
    const lateDelivery = await delivery(service, wasAttempted);
    expect(lateDelivery).toMatchObject({ status: 'pending', last_status_code: null, last_error: 'no response within 15 s' });
  });

  it('that never ends its body has answered with its status', async () => {
    const hook = await receiver();
    hook.answer = (response) => {
      response.writeHead(200);
      const writeMore = (): void => {
        if (!response.destroyed) response.write('x'.repeat(1_000), () => setImmediate(writeMore));
      };
      writeMore();
    };
    const { service } = await subscribe(hook.url);
    await causeEvent(service);
    const attemptedDelivery = await delivery(service, wasAttempted);
    expect(attemptedDelivery.status).toBe('delivered');
    expect((await detail(service, attemptedDelivery)).attempts[0]?.response_body).toBe('x'.repeat(2_048));
  });

  it.each([
    ['hangs up', (socket: Socket) => socket.resetAndDestroy(), /reset|closed/],
    ['closes without a word', (socket: Socket) => socket.end(), /closed/],
    ['talks nonsense', (socket: Socket) => socket.end('SSH-2.0-nothing\r\n\r\n'), /not valid HTTP/],
    ['changes protocols', (socket: Socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'), /not valid HTTP/],
    ['has a status below 100', (socket: Socket) => socket.end('HTTP/1.1 099 No\r\n\r\n'), /not valid HTTP/],
    [
      'sends too many headers',
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\n${'x-a: 1234567890\r\n'.repeat(5_000)}\r\n`),
      /headers of the response are too large/,
    ],
  ])('that %s counts as failed', async (_, behave, reason) => {
    const raw = await rawReceiver(behave);
    afterTest(raw.close);
    const { service } = await subscribe(raw.url);
    await causeEvent(service);
    const attemptedDelivery = await delivery(service, wasAttempted);
    expect(attemptedDelivery).toMatchObject({ status: 'pending', last_status_code: null });
    expect(attemptedDelivery.last_error).toMatch(reason);
  });

  it('that does not exist counts as failed', async () => {
    const hook = await Receiver.start();
    await hook.close();
    const { service } = await subscribe(hook.url);
    await causeEvent(service);
    expect((await delivery(service, wasAttempted)).last_error).toBe('the connection was refused');
  });

  it('that asks for time gets it, for all pending and new deliveries', async () => {
    const hook = await receiver();
    hook.answer = (response, number) => response.writeHead(number === 1 ? 429 : 200, { 'retry-after': '600' }).end();
    const { clock, service } = await subscribe(hook.url);
    await causeEvent(service);
    const first = await delivery(service, wasAttempted);
    expect(wait(first, clock.now())).toBe(600_000);
    await causeEvent(service);
    const second = await delivery(service, ({ id }) => id !== first.id);
    expect(second).toMatchObject({ attempt_count: 0, next_attempt_at: first.next_attempt_at });
    await nextAttempt(service, clock, first);
    await delivery(service, ({ status }) => status === 'delivered');
    expect(hook.deliveries).toHaveLength(3);
  });

  it('that is gone has its subscription disabled, which is an event for the other subscriptions', async () => {
    const [goneReceiver, otherReceiver] = [await receiver(), await receiver()];
    goneReceiver.answer = (response) => response.writeHead(410).end();
    const { service, webhook } = await subscribe(goneReceiver.url);
    await service.ok('createTeamWebhook', { body: { url: otherReceiver.url, events: ['webhook.disabled'] } });
    await causeEvent(service);
    const [receivedEvent] = await otherReceiver.count(1);
    expect(receivedEvent?.json).toMatchObject({
      type: 'webhook.disabled',
      data: { webhook: { id: webhook.id, status: 'disabled', disabled_reason: 'the receiver answered 410 (gone)' } },
    });
    const [ownDelivery] = await deliveries(service, { subscription_id: webhook.id });
    expect(ownDelivery).toMatchObject({ status: 'failed', last_status_code: 410 });
    await causeEvent(service);
    expect(await deliveries(service, { subscription_id: webhook.id })).toHaveLength(1);
    expect(goneReceiver.deliveries).toHaveLength(1);
  });

  it('of a single run that is gone gets no further events of it', async () => {
    const hook = await receiver();
    hook.answer = (response) => response.writeHead(410).end();
    const service = await startApi();
    const agentId = await service.agent();
    const { run } = await service.ok('startRun', { body: { agent_id: agentId, webhook_url: hook.url } });
    await service.until(run.id, 'completed');
    const attemptedDelivery = await delivery(service, ({ status }) => status !== 'pending');
    expect(['failed', 'cancelled']).toContain(attemptedDelivery.status);
  });
});

describe('an endpoint that keeps failing', () => {
  it('is disabled after five days unless an attempt succeeds in between, and can be enabled again', async () => {
    const hook = await receiver();
    let status = 500;
    hook.answer = (response) => response.writeHead(status).end();
    const { clock, service, webhook } = await subscribe(hook.url);
    const params = { subscriptionId: webhook.id };
    const state = async () => (await service.ok('listTeamWebhooks')).webhooks[0];

    const failThrough = async (): Promise<void> => {
      await causeEvent(service);
      let attemptedDelivery = await delivery(service, wasAttempted);
      while (attemptedDelivery.status === 'pending') attemptedDelivery = await nextAttempt(service, clock, attemptedDelivery);
    };
    await failThrough();
    expect(await state()).toMatchObject({ enabled: true, status: 'failing' });
    status = 200;
    await causeEvent(service);
    await delivery(service, ({ status }) => status === 'delivered');
    expect(await state()).toMatchObject({ status: 'active', failing_since: null });

    status = 500;
    await failThrough();
    // There were ten failures, but not over five days yet; the next one comes later.
    expect((await state())?.enabled).toBe(true);
    clock.advance(3 * day);
    await causeEvent(service);
    await delivery(service, wasAttempted);
    const disabledState = await state();
    expect(disabledState).toMatchObject({ enabled: false, status: 'disabled', disabled_at: expect.any(String) });
    expect(disabledState?.disabled_reason).toMatch(/no attempt has succeeded since/);
    const before = hook.deliveries.length;
    await causeEvent(service);
    expect(await deliveries(service, { status: 'pending' })).toEqual([]);
    expect(hook.deliveries).toHaveLength(before);

    status = 200;
    await service.ok('updateTeamWebhook', { params, body: { enabled: true } });
    expect(await state()).toMatchObject({ status: 'active', disabled_reason: null });
    await causeEvent(service);
    await delivery(service, ({ status }) => status === 'delivered');
  });
});

describe('endpoints', () => {
  it('get all other deliveries while one of theirs is slow', async () => {
    const hook = await receiver();
    let release: (() => void) | undefined;
    hook.answer = (response, number) => {
      const answer = () => void response.writeHead(200).end();
      if (number === 1) release = answer;
      else answer();
    };
    const { service } = await subscribe(hook.url);
    const agent_id = await service.agent();
    const runs = await Promise.all(Array.from({ length: 60 }, () => service.ok('startRun', { body: { agent_id } })));
    for (const { run } of runs) await service.until(run.id, 'completed');
    // More deliveries than an endpoint gets in a turn, while the clock stands still.
    await hook.count(60);
    const pending = async () => (await deliveries(service, { status: 'pending', limit: 100 })).length;
    await eventually('all others are delivered', async () => (await pending()) === 1);
    release?.();
    await eventually('the slow one is delivered', async () => (await pending()) === 0);
    expect(new Set(hook.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
  });

  it('that hang do not delay the others, and get four requests at a time', async () => {
    const [deadReceiver, healthyReceiver] = [await receiver(), await receiver()];
    deadReceiver.answer = () => undefined;
    const { service } = await subscribe(deadReceiver.url);
    await service.ok('createTeamWebhook', { body: { url: healthyReceiver.url, events: ['run.completed'] } });
    for (let number = 0; number < 12; number++) await causeEvent(service);
    // The clock stands still, so this would never end if one had to wait for the deadline of another.
    await healthyReceiver.count(12);
    expect(deadReceiver.deliveries).toHaveLength(4);
  });

  it('get everything, however much there is', async () => {
    const hook = await receiver();
    const { service } = await subscribe(hook.url, {}, ['run.started', 'run.completed']);
    const agentId = await service.agent();
    await Promise.all(Array.from({ length: 40 }, () => service.ok('startRun', { body: { agent_id: agentId } })));
    await hook.count(80);
    const delivered = async () => (await service.ok('listWebhookDeliveries', { query: { status: 'delivered', limit: 1 } })).total;
    await eventually('everything is delivered', async () => (await delivered()) === 80);
    expect(new Set(hook.deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(80);
  });
});

describe('the secret', () => {
  it('from before a rotation signs until the overlap ends', async () => {
    const hook = await receiver();
    const { clock, service } = await subscribe(hook.url);
    await service.ok('getTeamWebhookSecret');
    await service.ok('rotateTeamWebhookSecret', { body: { overlap_seconds: 3_600 } });
    clock.advance(hour - 1_000);
    await causeEvent(service);
    await hook.count(1);
    clock.advance(1_000);
    await causeEvent(service);
    await hook.count(2);
    expect(hook.deliveries.map(({ headers }) => headers['webhook-signature']?.split(' ').length)).toEqual([2, 1]);
    expect((await service.ok('getTeamWebhookSecret')).previous_expires_at).toBeNull();
    // After the overlap, a rotation is no longer a conflict.
    await service.ok('rotateTeamWebhookSecret');
    expect(failure(await service.call('rotateTeamWebhookSecret'))).toEqual([409, 'secret_rotation_in_progress']);
    clock.advance(day);
    await service.ok('rotateTeamWebhookSecret');
  });
});

describe('an address', () => {
  const lookupOf =
    (answers: string[][]): Lookup =>
    (_, __, callback) => {
      const addresses = (answers.length > 1 ? answers.shift() : answers[0]) as string[];
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };

  it.each([
    'http://127.1:PORT/hook',
    'http://0x7f000001:PORT/hook',
    'http://2130706433:PORT/hook',
    'http://[::ffff:127.0.0.1]:PORT/hook',
    'http://localhost:PORT/hook',
  ])('of this machine can be written as %s', async (url) => {
    const hook = await receiver();
    const { service } = await subscribe(url.replace('PORT', new URL(hook.url).port));
    await causeEvent(service);
    expect((await delivery(service, wasAttempted)).status).toBe('delivered');
  });

  it('is checked when it is dialled, so a name that starts to resolve to another address is refused', async () => {
    const hook = await receiver();
    const lookup = lookupOf([['127.0.0.1'], ['169.254.169.254']]);
    const { service } = await subscribe(hook.url.replace('127.0.0.1', 'rebind.test'), { webhooks: { random, lookup } });
    await causeEvent(service);
    const attemptedDelivery = await delivery(service, wasAttempted);
    expect(attemptedDelivery).toMatchObject({
      status: 'pending',
      last_status_code: null,
      last_error: 'webhooks may not be sent to rebind.test',
    });
    expect(hook.deliveries).toEqual([]);
  });

  it('is one of those that were checked if a name has several', async () => {
    const hook = await receiver();
    const lookup = lookupOf([['10.0.0.1', '127.0.0.1', 'fe80::1']]);
    const { service } = await subscribe(hook.url.replace('127.0.0.1', 'many.test'), { webhooks: { random, lookup } });
    await causeEvent(service);
    expect((await delivery(service, wasAttempted)).status).toBe('delivered');
    expect(hook.deliveries[0]?.headers.host).toMatch(/^many\.test:/);
  });

  it('of a name that cannot be resolved is looked up again later', async () => {
    const lookup: Lookup = (_, __, callback) => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
    const { service } = await subscribe('http://nowhere.test/', { webhooks: { random, lookup } });
    await causeEvent(service);
    expect((await delivery(service, wasAttempted)).last_error).toBe('the host name could not be found');
  });

  it('that the operator has allowed is dialled', async () => {
    // An address of the documentation range: nothing listens there, but it is tried.
    const lookup = lookupOf([['127.0.0.1']]);
    const service = await startApi({ webhooks: { allow: ['192.0.2.0/24', 'hooks.example.com'], lookup } });
    for (const url of ['http://192.0.2.7:9/', 'http://hooks.example.com:9/'])
      expect((await service.call('createTeamWebhook', { body: { url } })).status).toBe(201);
    expect(failure(await service.call('createTeamWebhook', { body: { url: 'http://192.0.3.7/' } }))).toEqual([
      400,
      'webhook_host_not_allowed',
    ]);
  });

  it('that is not a valid rule fails the start of the service', async () => {
    const dataDirectory = await temporaryDirectory();
    await expect(startApi({ dataDirectory, webhooks: { allow: ['http://x/'] } })).rejects.toMatchObject({ code: 'webhook_host_invalid' });
    await startApi({ dataDirectory });
  });
});

describe('a service that ends', () => {
  itNeeding(needsSqlite, 'delivers what was queued when it starts again, under the same ID', async () => {
    const hook = await receiver();
    hook.answer = (response, number) => (number === 1 ? undefined : response.writeHead(200).end());
    const { service, webhook } = await subscribe(hook.url);
    await causeEvent(service);
    await causeEvent(service);
    await hook.count(2);
    await delivery(service, wasAttempted);
    // A copy of the data while the first attempt is in progress is what a killed process leaves behind.
    const dataDirectory = await temporaryDirectory();
    await cp(service.dataDirectory, join(dataDirectory, 'copy'), { recursive: true });
    const restartedApi = await startApi({ dataDirectory: join(dataDirectory, 'copy') });
    await hook.count(3);
    const [, , third] = hook.deliveries;
    expect(third?.headers['webhook-id']).toBe(hook.deliveries[0]?.headers['webhook-id']);
    await delivery(restartedApi, ({ status }) => status === 'delivered', { subscription_id: webhook.id });
    while ((await deliveries(restartedApi, { status: 'delivered' })).length < 2);
  });

  it('lets requests in progress end', async () => {
    let answer: (() => void) | undefined;
    const hook = await receiver();
    hook.answer = (response) => {
      answer = () => response.writeHead(200).end();
    };
    const { service } = await subscribe(hook.url);
    await causeEvent(service);
    await hook.count(1);
    const closing = service.service.close();
    answer?.();
    await closing;
    const after = await startApi({ dataDirectory: service.dataDirectory });
    expect((await deliveries(after))[0]).toMatchObject({ status: 'delivered', attempt_count: 1 });
  });

  it('leaves the deliveries of an endpoint to others at once, also if its receiver does not answer', async () => {
    const hook = await receiver();
    hook.answer = () => undefined;
    const { service } = await subscribe(hook.url);
    await causeEvent(service);
    await hook.count(1);
    await service.service.close();
    const jobs = await storedRows(service.dataDirectory, `select status, owner from jobs where kind = 'deliver'`);
    expect(jobs).toEqual([{ status: 'queued', owner: null }]);
  });
});

describe('the log of deliveries', () => {
  it('is retained for 30 days', async () => {
    const hook = await receiver();
    const { clock, service, webhook } = await subscribe(hook.url);
    await causeEvent(service);
    await delivery(service, ({ status }) => status === 'delivered');
    clock.advance(29 * day);
    await causeEvent(service);
    await hook.count(2);
    await service.ok('deleteTeamWebhook', { params: { subscriptionId: webhook.id } });
    expect(await deliveries(service)).toHaveLength(2);
    clock.advance(day + hour);
    await within(2 * hour, clock, async () => (await deliveries(service)).length === 1);
    clock.advance(30 * day);
    await within(2 * hour, clock, async () => (await deliveries(service)).length === 0);
  });
});

it('sends one request over each connection', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => void response.end()).on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(async () => void server.close());
  const { service } = await subscribe(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await causeEvent(service);
  await causeEvent(service);
  while ((await deliveries(service, { status: 'delivered' })).length < 2);
  expect(sockets.size).toBe(2);
});

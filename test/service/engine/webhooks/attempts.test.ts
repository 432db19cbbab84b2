/** What follows an attempt if the subscription, or the delivery, changes while it is in progress, and how failures are counted. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { WebhookDelivery } from '../../../../src/interface/types.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { type Api, startApi, type TestOptions } from '../../helpers/service.ts';
import { deliveries, delivery, nextAttempt, receiver } from '../../helpers/webhooks.ts';

const minute = 60_000;

async function subscribe(options: TestOptions = {}) {
  const hook = await receiver();
  const clock = new ManualClock();
  const service = await startApi({ clock, webhooks: { random: () => 0.5 }, ...options });
  const { webhook } = await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
  return { hook, clock, service, params: { subscriptionId: webhook.id } };
}

async function causeEvent(service: Api): Promise<void> {
  const run = await service.run();
  await service.until(run.id, 'completed');
}

const wasAttempted = ({ attempt_count }: WebhookDelivery): boolean => attempt_count > 0;
const state = async (service: Api) => (await service.ok('listTeamWebhooks')).webhooks[0];

describe('a subscription that is disabled during an attempt', () => {
  /** The delivery after an attempt that is answered only when its subscription has been disabled by request. */
  async function answeredLate(status: number) {
    const { hook, service, params } = await subscribe();
    let response: ServerResponse | undefined;
    hook.answer = (request) => {
      response = request;
    };
    await causeEvent(service);
    await hook.count(1);
    await service.ok('updateTeamWebhook', { params, body: { enabled: false } });
    response?.writeHead(status).end();
    const after = await delivery(service, wasAttempted);
    const { attempts } = (await service.ok('getWebhookDelivery', { params: { deliveryId: after.id } })).delivery;
    return { after, attempts, webhook: await state(service) };
  }

  it('has received the event if the attempt succeeds', async () => {
    const { after, attempts } = await answeredLate(200);
    expect(after).toMatchObject({ status: 'delivered', attempt_count: 1, last_status_code: 200, last_error: null });
    expect(attempts).toMatchObject([{ number: 1, status_code: 200, error: null }]);
  });

  it.each([500, 410])('keeps its reason if the attempt fails with %s, which is not repeated', async (status) => {
    const { after, attempts, webhook } = await answeredLate(status);
    expect(after).toMatchObject({ status: 'cancelled', attempt_count: 1, last_status_code: status, next_attempt_at: null });
    expect(attempts).toMatchObject([{ number: 1, status_code: status }]);
    expect(webhook).toMatchObject({ enabled: false, disabled_reason: 'by request' });
  });
});

describe('the URL of a single run', () => {
  it('receives nothing more once it has answered 410', async () => {
    const hook = await receiver();
    const responses: ServerResponse[] = [];
    hook.answer = (response) => responses.push(response);
    const texts = Array.from({ length: 10 }, (_, index) => ({ kind: 'text' as const, id: `t${index}`, text: 'Hello' }));
    const service = await startApi({
      clock: new ManualClock(),
      behaviours: {
        talks: async (host) => {
          await host.emit(texts);
          return { status: 'completed' };
        },
      },
    });
    const agent_id = await service.agent('talks');
    const { run } = await service.ok('startRun', { body: { agent_id, webhook_url: hook.url } });
    await service.until(run.id, 'completed');
    await hook.count(4);
    for (const response of responses) response.writeHead(410).end();
    const listDeliveries = () => deliveries(service, { limit: 100 });
    while ((await listDeliveries()).some(({ status }) => status === 'pending')) await new Promise((resolve) => setImmediate(resolve));
    while ((await listDeliveries()).filter(wasAttempted).length < 4) await new Promise((resolve) => setImmediate(resolve));
    const endedDeliveries = await listDeliveries();
    expect(endedDeliveries).toHaveLength(12);
    expect(endedDeliveries.filter(({ status }) => status === 'failed')).toMatchObject([{ attempt_count: 1, last_status_code: 410 }]);
    const cancelledDeliveries = endedDeliveries.filter(({ status, attempt_count }) => status === 'cancelled' && attempt_count === 0);
    expect(new Set(cancelledDeliveries.map(({ last_error }) => last_error))).toEqual(new Set(['the receiver answered 410 (gone)']));
    expect([cancelledDeliveries.length, hook.deliveries.length]).toEqual([8, 4]);
  });
});

describe('a receiver that is overloaded', () => {
  it.each([429, 502, 504])('has a minute without deliveries if it answers %s without Retry-After', async (status) => {
    const { hook, clock, service } = await subscribe();
    hook.answer = (response) => response.writeHead(status).end();
    await causeEvent(service);
    const first = await delivery(service, wasAttempted);
    expect(Date.parse(first.next_attempt_at as string) - clock.now()).toBe(minute);
    await causeEvent(service);
    expect(await delivery(service, ({ id }) => id !== first.id)).toMatchObject({
      attempt_count: 0,
      next_attempt_at: first.next_attempt_at,
    });
  });

  it('has its other pending deliveries postponed as well', async () => {
    const { hook, clock, service } = await subscribe();
    hook.answer = (response, number) => response.writeHead(number === 1 ? 500 : 429).end();
    await causeEvent(service);
    const first = await delivery(service, wasAttempted);
    expect(Date.parse(first.next_attempt_at as string) - clock.now()).toBe(5_000);
    await causeEvent(service);
    const second = await delivery(service, ({ id, attempt_count }) => id !== first.id && attempt_count === 1);
    expect(Date.parse(second.next_attempt_at as string) - clock.now()).toBe(minute);
    const { delivery: postponed } = await service.ok('getWebhookDelivery', { params: { deliveryId: first.id } });
    expect(postponed).toMatchObject({ attempt_count: 1, next_attempt_at: second.next_attempt_at });
  });

  it('does not count as overloaded if it answers 503 without Retry-After', async () => {
    const { hook, clock, service } = await subscribe();
    hook.answer = (response) => response.writeHead(503).end();
    await causeEvent(service);
    const first = await delivery(service, wasAttempted);
    expect(Date.parse(first.next_attempt_at as string) - clock.now()).toBe(5_000);
  });
});

describe('a subscription', () => {
  it('has no failures once its URL was changed, and keeps them if the URL was only repeated', async () => {
    const { hook, clock, service, params } = await subscribe();
    hook.answer = (response) => response.writeHead(500).end();
    await causeEvent(service);
    await delivery(service, wasAttempted);
    const failingState = { status: 'failing', failing_since: new Date(clock.now()).toISOString() };
    expect(await state(service)).toMatchObject(failingState);
    await service.ok('updateTeamWebhook', { params, body: { url: hook.url, description: 'the same' } });
    expect(await state(service)).toMatchObject({ ...failingState, description: 'the same' });
    expect(await deliveries(service)).toMatchObject([{ status: 'pending', attempt_count: 1 }]);
    await service.ok('updateTeamWebhook', { params, body: { url: `${hook.url}/new` } });
    expect(await state(service)).toMatchObject({ status: 'active', failing_since: null, description: 'the same' });
  });

  it('sends what is pending to another URL at once, even if the previous receiver asked for time', async () => {
    const { hook, clock, service, params } = await subscribe();
    hook.answer = (response) => response.writeHead(429, { 'retry-after': '3600' }).end();
    await causeEvent(service);
    await delivery(service, wasAttempted);
    hook.answer = (response) => response.writeHead(204).end();
    const startedAt = clock.now();
    await service.ok('updateTeamWebhook', { params, body: { url: `${hook.url}/new` } });
    const deliveredRow = await delivery(service, ({ status }) => status === 'delivered');
    expect([deliveredRow.attempt_count, clock.now()]).toEqual([2, startedAt]);
  });

  it('has been failing since its first failure', async () => {
    const { hook, clock, service } = await subscribe();
    hook.answer = (response) => response.writeHead(500).end();
    const startedAt = clock.now();
    await causeEvent(service);
    await nextAttempt(service, clock, await delivery(service, wasAttempted));
    expect(clock.now()).toBeGreaterThan(startedAt);
    expect(await state(service)).toMatchObject({ failing_since: new Date(startedAt).toISOString() });
  });

  it('stays disabled since the same moment, for the same reason, if it is disabled again', async () => {
    const { hook, clock, service, params } = await subscribe();
    hook.answer = (response) => response.writeHead(410).end();
    await causeEvent(service);
    const before = await eventually('it is disabled', async () => {
      const webhook = await state(service);
      return webhook?.status === 'disabled' && webhook;
    });
    clock.advance(minute);
    await service.ok('updateTeamWebhook', { params, body: { enabled: false } });
    const { disabled_at, disabled_reason } = before;
    expect(await state(service)).toMatchObject({ disabled_at, disabled_reason });
    expect(disabled_reason).not.toBe('by request');
  });

  it('stays disabled if something else of it is changed', async () => {
    const { service, params } = await subscribe();
    await service.ok('updateTeamWebhook', { params, body: { enabled: false } });
    await service.ok('updateTeamWebhook', { params, body: { description: 'off' } });
    expect(await state(service)).toMatchObject({ enabled: false, description: 'off', disabled_reason: 'by request' });
  });
});

describe('a pending delivery that is resent', () => {
  it('continues its schedule, whereas one that has ended begins a new one', async () => {
    const { hook, clock, service, params } = await subscribe();
    hook.answer = (response) => response.writeHead(500).end();
    const wait = ({ next_attempt_at }: WebhookDelivery) => Date.parse(next_attempt_at as string) - clock.now();
    await causeEvent(service);
    const first = await delivery(service, wasAttempted);
    await service.ok('resendWebhookDelivery', { params: { deliveryId: first.id } });
    const second = await delivery(service, ({ attempt_count }) => attempt_count === 2);
    expect([wait(first), wait(second)]).toEqual([5_000, 5 * minute]);
    for (const enabled of [false, true]) await service.ok('updateTeamWebhook', { params, body: { enabled } });
    const { delivery: resentDelivery } = await service.ok('resendWebhookDelivery', { params: { deliveryId: first.id } });
    expect(resentDelivery).toMatchObject({ status: 'pending', completed_at: null });
    expect(wait(await delivery(service, ({ attempt_count }) => attempt_count === 3))).toBe(5_000);
  });
});

it('a team has one secret, however many requests ask for it at the same time', async () => {
  const service = await startApi();
  const secrets = await Promise.all(Array.from({ length: 5 }, () => service.ok('getTeamWebhookSecret')));
  expect(new Set(secrets.map(({ secret }) => secret)).size).toBe(1);
});

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../src/interface/types.ts';
import { webhookEventKinds } from '../../../src/interface/webhook-events.ts';
import { type ReceivedDelivery, verifyWithLibrary } from '../../support/webhook-receiver.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import { config } from '../helpers/service.ts';
import { storedRows } from '../helpers/stored.ts';
import { deliveries, delivery, failure, receiver } from '../helpers/webhooks.ts';

const service = covers('webhooks');

const behaviours: Record<string, Behaviour> = {
  everything: async (host) => {
    const image = { name: 'page.png', mimeType: 'image/png', bytes: Buffer.from('89504e47', 'hex') };
    await host.commit('work', null, [
      { kind: 'text', id: 't', text: 'Grüße' },
      { kind: 'tool_call', id: 'c', name: 'browser', arguments: { url: 'https://example.test/' } },
      { kind: 'tool_result', id: 'r', callId: 'c', result: { ok: true } },
      { kind: 'screenshot', id: 's', toolName: 'browser', startedAt: new Date(host.clock.now()), image },
    ]);
    if (host.answer('q') !== undefined) return { status: 'completed' };
    return { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay?' } };
  },
  fail: async () => ({ status: 'failed', error: 'no luck' }),
  wait: async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay?' } }),
};

const api = () => service({ behaviours });

describe('subscriptions', () => {
  it('are created, listed, changed, and deleted', async () => {
    const service = await api();
    const { webhook } = await service.ok('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/a#part' } });
    expect(webhook).toMatchObject({
      url: 'http://127.0.0.1:9/a',
      events: ['*'],
      description: null,
      enabled: true,
      status: 'active',
      team_id: service.service.teamId,
    });
    const second = await service.ok('createTeamWebhook', {
      body: {
        url: 'http://localhost:9/',
        events: ['run.failed', 'run.failed'],
        description: 'On call',
        enabled: false,
        colour: 'red',
      } as never,
    });
    expect(second.webhook).toMatchObject({ events: ['run.failed'], status: 'disabled', disabled_reason: 'by request' });
    expect(await service.ok('listTeamWebhooks')).toMatchObject({ total: 2, webhooks: [{ id: webhook.id }, { id: second.webhook.id }] });

    const params = { subscriptionId: second.webhook.id };
    const enabled = await service.ok('updateTeamWebhook', { params, body: { enabled: true, events: ['run.completed', '*'] } });
    expect(enabled.webhook).toMatchObject({
      enabled: true,
      status: 'active',
      disabled_reason: null,
      events: ['*'],
      description: 'On call',
    });
    const movedWebhook = await service.ok('updateTeamWebhook', { params, body: { url: 'http://[::1]:9/b', description: null } });
    expect(movedWebhook.webhook).toMatchObject({ url: 'http://[::1]:9/b', description: null });

    await service.ok('deleteTeamWebhook', { params });
    expect((await service.ok('listTeamWebhooks')).total).toBe(1);
    expect(failure(await service.call('deleteTeamWebhook', { params }))).toEqual([404, 'webhook_not_found']);
    expect(failure(await service.call('updateTeamWebhook', { params, body: {} }))).toEqual([404, 'webhook_not_found']);
  });

  it.each([
    ['no URL', {}, 'url is required'],
    ['nonsense', { url: 'nonsense' }, 'http or https'],
    ['a file', { url: 'file:///etc/passwd' }, 'http or https'],
    ['gopher', { url: 'gopher://127.0.0.1/x' }, 'http or https'],
    ['a password', { url: 'http://me:pw@127.0.0.1/' }, 'user name'],
    ['an unknown event', { url: 'http://127.0.0.1/', events: ['run.complete'] }, 'run.completed'],
    ['no events', { url: 'http://127.0.0.1/', events: [] }, 'events'],
    ['a long URL', { url: `http://127.0.0.1/${'x'.repeat(2_048)}` }, 'url'],
  ])('cannot be created with %s', async (_, body, word) => {
    const service = await api();
    const refusal = await service.call('createTeamWebhook', { body });
    expect(failure(refusal)).toEqual([400, 'invalid_request']);
    expect(refusal.text).toContain(word);
  });

  it('of an unknown kind are rejected with a list of all kinds', async () => {
    const refusal = await (await api()).call('createTeamWebhook', {
      body: { url: 'http://127.0.0.1:9/', events: ['case.created'] as never },
    });
    expect(failure(refusal)).toEqual([400, 'invalid_request']);
    for (const kind of webhookEventKinds) expect(refusal.text).toContain(kind);
  });

  it('cannot be created for a host that the service is not allowed to reach, and the error says how to allow it', async () => {
    const service = await api();
    for (const host of ['10.0.0.7', '169.254.169.254', '[fd00::1]', '0.0.0.0']) {
      const refusal = await service.call('createTeamWebhook', { body: { url: `http://${host}/` } });
      expect(failure(refusal), host).toEqual([400, 'webhook_host_not_allowed']);
      expect(refusal.text).toContain(`--allow-webhook-host ${host}`);
    }
    const agentId = await service.agent();
    const run = await service.call('startRun', { body: { agent_id: agentId, webhook_url: 'http://10.0.0.7/' } });
    expect(failure(run)).toEqual([400, 'webhook_host_not_allowed']);
    expect((await service.ok('listRuns')).total).toBe(0);
  });

  it('that are temporary are deleted when their time is over, unless they are extended or kept', async () => {
    const clock = new ManualClock();
    const own = await service({ behaviours, clock });
    const create = async (name: string) => {
      const body = { url: `http://127.0.0.1:9/${name}`, expires_in_seconds: 600 };
      return (await own.ok('createTeamWebhook', { body })).webhook;
    };
    const start = clock.now();
    const [expired, extended, kept] = [await create('expired'), await create('extended'), await create('kept')];
    expect(Date.parse(expired.expires_at as string)).toBe(start + 600_000);
    const listed = async () => (await own.ok('listTeamWebhooks')).webhooks.map(({ id }) => id);
    await clock.advance(599_000);
    expect(await listed()).toEqual([expired.id, extended.id, kept.id]);
    const change = (subscriptionId: string, expires_in_seconds: number | null) =>
      own.ok('updateTeamWebhook', { params: { subscriptionId }, body: { expires_in_seconds } });
    const end = Date.parse((await change(extended.id, 600)).webhook.expires_at as string);
    expect((await change(kept.id, null)).webhook.expires_at).toBeNull();
    // Other changes leave the time unchanged.
    const other = await own.ok('updateTeamWebhook', { params: { subscriptionId: extended.id }, body: { description: 'Mine' } });
    expect(Date.parse(other.webhook.expires_at as string)).toBe(end);
    clock.set(start + 600_000);
    await within(10_000, clock, async () => (await listed()).length === 2);
    expect(await listed()).toEqual([extended.id, kept.id]);
    clock.set(end);
    await within(10_000, clock, async () => (await listed()).length === 1);
    expect(await listed()).toEqual([kept.id]);
    for (const expires_in_seconds of [59, 86_401, 1.5])
      expect(failure(await own.call('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/', expires_in_seconds } }))[0]).toBe(400);
  });

  it('are limited to a hundred', async () => {
    const service = await api();
    for (let number = 0; number < 100; number++) await service.ok('createTeamWebhook', { body: { url: `http://127.0.0.1:9/${number}` } });
    expect(failure(await service.call('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/' } }))).toEqual([409, 'too_many_webhooks']);
  });

  it('of another team do not exist', async () => {
    const service = await api();
    const params = { teamId: randomUUID(), subscriptionId: randomUUID(), deliveryId: randomUUID() };
    for (const id of [
      'listTeamWebhooks',
      'createTeamWebhook',
      'updateTeamWebhook',
      'deleteTeamWebhook',
      'getTeamWebhookSecret',
      'rotateTeamWebhookSecret',
      'listWebhookDeliveries',
      'getWebhookDelivery',
      'resendWebhookDelivery',
    ] as const) {
      const answer = await service.call(id, { params, body: { url: 'http://127.0.0.1/' } });
      expect(failure(answer), id).toEqual([404, 'team_not_found']);
    }
  });
});

describe('events', () => {
  it('of every kind are delivered, and the reference library verifies them', async () => {
    const service = await api();
    const hook = await receiver();
    await service.ok('createTeamWebhook', { body: { url: hook.url } });
    const { secret } = await service.ok('getTeamWebhookSecret');

    const agentId = await service.agent('everything', 'Clerk');
    const draft = await service.ok('createRevision', {
      params: { agent_id: agentId },
      body: { name: 'two', config: config('everything') },
    });
    await service.ok('promoteRevision', { params: { build_id: draft.build.id } });
    const { run } = await service.ok('startRun', { body: { agent_id: agentId, message: 'Go' } });
    const { pending_human_request: request } = await service.until(run.id, 'waiting');
    await service.ok('respondToHumanRequest', { params: { run_id: run.id, request_id: request?.id as string }, body: { approved: true } });
    await service.until(run.id, 'completed');
    const failingRun = await service.run('fail');
    await service.until(failingRun.id, 'failed');

    const expected = [
      'assignment.build.published',
      'assignment.build.published',
      'assignment.build.published',
      'human_request.created',
      'human_request.responded',
      'run.completed',
      'run.failed',
      'run.file.created',
      'run.message.created',
      'run.message.created',
      'run.message.created',
      'run.paused',
      'run.started',
      'run.started',
      'run.tool_call.completed',
    ];
    const receivedEvents = await hook.count(expected.length);
    expect(receivedEvents.map(({ json }) => json.type).sort()).toEqual(expected);
    for (const event of receivedEvents) {
      expect(verifyWithLibrary(secret, event)).toEqual(event.json);
      expect(event.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': event.json.id });
      expect(event.json).toMatchObject({ team_id: service.service.teamId, timestamp: expect.stringMatching(/Z$/) });
      expect(webhookEventKinds).toContain(event.json.type);
    }
    const data = (kind: string) => receivedEvents.filter(({ json }) => json.type === kind).map(({ json }) => json.data);
    expect(data('assignment.build.published')[1]).toMatchObject({
      agent: { name: 'Clerk' },
      build: { id: draft.build.id, status: 'live' },
    });
    expect(data('run.started')[0]).toMatchObject({ run: { id: run.id, status: 'running' } });
    expect(data('run.paused')).toMatchObject([{ run: { status: 'waiting', pending_human_request: { id: request?.id } } }]);
    expect(data('run.completed')).toMatchObject([{ run: { id: run.id, status: 'completed', completed_at: expect.any(String) } }]);
    expect(data('run.failed')).toMatchObject([{ run: { id: failingRun.id, status: 'failed', error: 'no luck' } }]);
    expect(data('human_request.created')).toMatchObject([{ run_id: run.id, human_request: { title: 'Pay?', type: 'approval' } }]);
    expect(data('human_request.responded')).toMatchObject([{ human_request: { id: request?.id, response: 'approved' } }]);
    expect(data('run.file.created')).toMatchObject([{ run_id: run.id, file: { name: 'page.png', mime_type: 'image/png', size: 4 } }]);
    expect(data('run.tool_call.completed')).toMatchObject([
      { tool_call: { id: 'c', name: 'browser', arguments: { url: 'https://example.test/' } }, tool_result: { result: { ok: true } } },
    ]);
    const texts = data('run.message.created').map(
      (event) => (event as unknown as { message: { text_content: string } }).message.text_content,
    );
    expect(texts.sort()).toEqual(['Approved: Pay?', 'Go', 'Grüße']);
  });

  it('report an interrupted run as failed, with its actual status', async () => {
    const service = await api();
    const hook = await receiver();
    await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.failed'] } });
    const run = await service.run('wait');
    await service.until(run.id, 'waiting');
    await service.ok('stopRun', { params: { run_id: run.id } });
    const [first] = await hook.count(1);
    expect(first?.json).toMatchObject({ type: 'run.failed', data: { run: { status: 'interrupted', pending_human_request: null } } });
    // Stopping the run again is not an event; deleting an agent interrupts its runs.
    await service.ok('stopRun', { params: { run_id: run.id } });
    const otherRun = await service.run('wait');
    const { agent_id } = await service.until(otherRun.id, 'waiting');
    await service.ok('deleteAgent', { params: { agent_id: agent_id as string } });
    const receivedEvents = await hook.count(2);
    expect(receivedEvents[1]?.json).toMatchObject({ data: { run: { id: otherRun.id, status: 'interrupted' } } });
    expect(await deliveries(service)).toHaveLength(2);
  });

  it('go to the webhook URL of a run if they are about that run', async () => {
    const service = await api();
    const hook = await receiver();
    const agentId = await service.agent('everything', 'Clerk');
    const { run } = await service.ok('startRun', { body: { agent_id: agentId, webhook_url: hook.url } });
    await service.ok('startRun', { body: { agent_id: agentId } });
    await service.until(run.id, 'waiting');
    const receivedEvents = await hook.count(6);
    for (const { json } of receivedEvents) {
      const data = json.data as { run_id?: string; run?: { id: string } };
      expect(data.run_id ?? data.run?.id).toBe(run.id);
    }
    const deliveryList = await deliveries(service, { run_id: run.id });
    expect(deliveryList).toHaveLength(6);
    expect(deliveryList[0]).toMatchObject({ subscription_id: null, run_id: run.id, url: hook.url });
  });

  it('without a subscriber are not stored', async () => {
    const service = await api();
    await service.ok('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/', events: ['run.failed'] } });
    const run = await service.run();
    await service.until(run.id, 'completed');
    expect(await deliveries(service)).toEqual([]);
  });
});

describe('deliveries', () => {
  it('are listed by subscription, event, status, and run, in pages, and shown with payload and attempts', async () => {
    const service = await api();
    const [goodReceiver, badReceiver] = [await receiver(), await receiver()];
    badReceiver.answer = (response) => response.writeHead(400, { 'content-type': 'text/plain' }).end(`no${'!'.repeat(5_000)}`);
    const goodWebhook = (
      await service.ok('createTeamWebhook', { body: { url: goodReceiver.url, events: ['run.completed', 'run.started'] } })
    ).webhook;
    const badWebhook = (await service.ok('createTeamWebhook', { body: { url: badReceiver.url, events: ['run.completed'] } })).webhook;
    // One after the other, because the order matters below.
    const runs: Run[] = [];
    for (let count = 0; count < 2; count++) {
      const run = await service.run();
      runs.push(await service.until(run.id, 'completed'));
    }
    await delivery(service, ({ attempt_count }) => attempt_count === 1, { subscription_id: badWebhook.id });
    await Promise.all([goodReceiver.count(4), badReceiver.count(2)]);
    while ((await deliveries(service, { status: 'delivered' })).length < 4) await new Promise((resolve) => setImmediate(resolve));

    const ids = async (query: object) => (await deliveries(service, query)).length;
    expect(await ids({})).toBe(6);
    expect(await ids({ subscription_id: goodWebhook.id })).toBe(4);
    expect(await ids({ event: 'run.started' })).toBe(2);
    expect(await ids({ run_id: runs[0]?.id })).toBe(3);
    expect(await ids({ status: 'failed' })).toBe(0);
    const page = await service.ok('listWebhookDeliveries', { query: { limit: 2, offset: 5 } });
    expect([page.total, page.limit, page.offset, page.deliveries.length]).toEqual([6, 2, 5, 1]);
    const newest = await deliveries(service, { limit: 1 });
    expect(newest[0]?.run_id).toBe(runs[1]?.id);

    const failingDelivery = (await deliveries(service, { subscription_id: badWebhook.id }))[0];
    const { delivery: detail } = await service.ok('getWebhookDelivery', { params: { deliveryId: failingDelivery?.id as string } });
    expect(detail).toMatchObject({
      status: 'pending',
      last_status_code: 400,
      last_error: 'answered 400',
      payload: { id: failingDelivery?.event_id, type: 'run.completed', data: { run: { id: runs[1]?.id } } },
      attempts: [{ number: 1, status_code: 400, error: 'answered 400', duration_ms: expect.any(Number) }],
    });
    expect(detail.attempts[0]?.response_body).toHaveLength(2_048);
    expect((await service.ok('listTeamWebhooks')).webhooks[1]).toMatchObject({ status: 'failing', failing_since: expect.any(String) });
    expect((await service.ok('listTeamWebhooks')).webhooks[0]).toMatchObject({ status: 'active', last_delivered_at: expect.any(String) });
  });

  it('of a test event go to whoever receives its kind, or to one webhook, and are marked', async () => {
    const service = await api();
    const hook = await receiver();
    const url = hook.url;
    const { webhook } = await service.ok('createTeamWebhook', { body: { url, events: ['run.failed'] } });
    await service.ok('createTeamWebhook', { body: { url, events: ['*'], enabled: false } });
    const first = await service.ok('createTestWebhookEvent', { body: { type: 'run.failed' } });
    expect(first.deliveries).toMatchObject([{ event_id: first.event_id, event: 'run.failed', subscription_id: webhook.id, run_id: null }]);
    const data = { run: { id: 'mine' } };
    const second = await service.ok('createTestWebhookEvent', { body: { type: 'queue.case.created', data, subscription_id: webhook.id } });
    expect(second.deliveries).toHaveLength(1);
    const received = await hook.count(2);
    const byType = new Map(received.map(({ json }) => [json.type, json]));
    expect(byType.get('run.failed')).toMatchObject({ test: true, id: first.event_id, data: { run: { status: 'failed' } } });
    expect(byType.get('queue.case.created')).toMatchObject({ test: true, id: second.event_id, data });

    const send = async (body: object) => failure(await service.call('createTestWebhookEvent', { body: body as never }));
    expect(await send({ type: 'run.completed' })).toEqual([409, 'no_webhook']);
    expect(await send({ type: 'run.fail' })).toEqual([400, 'invalid_request']);
    expect(await send({ type: 'run.failed', subscription_id: randomUUID() })).toEqual([404, 'webhook_not_found']);
    await service.ok('updateTeamWebhook', { params: { subscriptionId: webhook.id }, body: { enabled: false } });
    expect(await send({ type: 'run.failed', subscription_id: webhook.id })).toEqual([409, 'webhook_disabled']);
    // An event of a run has no such mark.
    await service.ok('createTeamWebhook', { body: { url, events: ['run.completed'] } });
    await service.until((await service.run()).id, 'completed');
    expect(Object.keys((await hook.count(3))[2]?.json ?? {})).toEqual(['id', 'type', 'timestamp', 'team_id', 'data']);
  });

  it('can be resent under the same ID', async () => {
    const service = await api();
    const hook = await receiver();
    hook.answer = (response, number) => response.writeHead(number === 1 ? 500 : 200).end('ok');
    const { webhook } = await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
    const run = await service.run();
    await service.until(run.id, 'completed');
    const failedDelivery = await delivery(service, ({ attempt_count }) => attempt_count === 1);
    const params = { deliveryId: failedDelivery.id };
    expect((await service.ok('resendWebhookDelivery', { params })).delivery).toMatchObject({ id: failedDelivery.id, status: 'pending' });
    await delivery(service, ({ status }) => status === 'delivered');
    // Even a delivery that has succeeded.
    expect((await service.ok('resendWebhookDelivery', { params })).delivery).toMatchObject({ status: 'pending', attempt_count: 2 });
    const receivedEvents = await hook.count(3);
    expect(new Set(receivedEvents.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([failedDelivery.event_id]));
    await delivery(service, ({ attempt_count }) => attempt_count === 3);

    await service.ok('updateTeamWebhook', { params: { subscriptionId: webhook.id }, body: { enabled: false } });
    expect(failure(await service.call('resendWebhookDelivery', { params }))).toEqual([409, 'webhook_disabled']);
    await service.ok('deleteTeamWebhook', { params: { subscriptionId: webhook.id } });
    expect(failure(await service.call('resendWebhookDelivery', { params }))).toEqual([409, 'webhook_deleted']);
    // The log is retained after the subscription is deleted.
    expect((await service.ok('getWebhookDelivery', { params })).delivery.attempts).toHaveLength(3);
    const unknownDelivery = { params: { deliveryId: randomUUID() } };
    expect(failure(await service.call('getWebhookDelivery', unknownDelivery))).toEqual([404, 'delivery_not_found']);
    expect(failure(await service.call('resendWebhookDelivery', unknownDelivery))).toEqual([404, 'delivery_not_found']);
  });

  it('that are pending are cancelled with their subscription', async () => {
    const service = await api();
    const hook = await receiver();
    hook.answer = (response) => response.writeHead(503).end();
    for (const end of ['disable', 'delete']) {
      const { webhook } = await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
      const params = { subscriptionId: webhook.id };
      const run = await service.run();
      await service.until(run.id, 'completed');
      const query = { subscription_id: webhook.id };
      await delivery(service, ({ attempt_count }) => attempt_count === 1, query);
      if (end === 'delete') await service.ok('deleteTeamWebhook', { params });
      else await service.ok('updateTeamWebhook', { params, body: { enabled: false } });
      const [droppedDelivery] = await deliveries(service, query);
      expect(droppedDelivery).toMatchObject({ status: 'cancelled', next_attempt_at: null, completed_at: expect.any(String) });
      expect(droppedDelivery?.last_error).toContain(end === 'delete' ? 'deleted' : 'disabled');
      const after = await service.run();
      await service.until(after.id, 'completed');
      expect(await deliveries(service, query)).toHaveLength(1);
    }
  });

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 101 }],
    ['event', { event: 'nonsense' }],
    ['status', { status: 'nonsense' }],
    ['run_id', { run_id: 'nonsense' }],
  ])('reject an invalid %s', async (name, query) => {
    const service = await api();
    const refusal = await service.call('listWebhookDeliveries', { query: query as never });
    expect(failure(refusal)).toEqual([400, 'invalid_request']);
    expect(refusal.text).toContain(name);
  });
});

describe('the secret', () => {
  const verifies = (secret: string, delivery: ReceivedDelivery | undefined): boolean => {
    try {
      verifyWithLibrary(secret, delivery as ReceivedDelivery);
      return true;
    } catch {
      return false;
    }
  };

  it('is created once, and replaced by a rotation with an overlap during which both sign', async () => {
    const service = await api();
    const hook = await receiver();
    await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
    const { secret: first, previous_expires_at } = await service.ok('getTeamWebhookSecret');
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(previous_expires_at).toBeNull();
    expect((await service.ok('getTeamWebhookSecret')).secret).toBe(first);

    const rotation = await service.ok('rotateTeamWebhookSecret');
    expect(rotation.secret).not.toBe(first);
    expect(Date.parse(rotation.previous_expires_at as string) - Date.parse(rotation.created_at)).toBe(86_400_000);
    expect(await service.ok('getTeamWebhookSecret')).toEqual(rotation);
    await service.until((await service.run()).id, 'completed');
    const [overlapDelivery] = await hook.count(1);
    expect([verifies(first, overlapDelivery), verifies(rotation.secret, overlapDelivery)]).toEqual([true, true]);
    expect(overlapDelivery?.headers['webhook-signature']?.split(' ')).toHaveLength(2);

    expect(failure(await service.call('rotateTeamWebhookSecret'))).toEqual([409, 'secret_rotation_in_progress']);
    const forcedRotation = await service.ok('rotateTeamWebhookSecret', { body: { force: true, overlap_seconds: 0 } });
    expect(forcedRotation.previous_expires_at).toBeNull();
    await service.until((await service.run()).id, 'completed');
    const [, forcedDelivery] = await hook.count(2);
    expect([first, rotation.secret, forcedRotation.secret].map((secret) => verifies(secret, forcedDelivery))).toEqual([false, false, true]);
    expect(failure(await service.call('rotateTeamWebhookSecret', { body: { overlap_seconds: -1 } }))).toEqual([400, 'invalid_request']);
    await service.service.close();
    expect(await storedRows(service.dataDirectory, 'select secret from webhook_secrets')).toEqual([{ secret: forcedRotation.secret }]);
  });
});

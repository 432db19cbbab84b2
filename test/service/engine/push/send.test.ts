/** The job that sends pushes to one browser, executed by the test: what it sends, and what becomes of the rest. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import { pushJob } from '../../../../src/service/engine/push/delivery.ts';
import { subscribe } from '../../../../src/service/engine/push/subscriptions.ts';
import { vapidKeys } from '../../../../src/service/engine/push/vapid.ts';
import { findToken, type TokenRecord } from '../../../../src/service/store/access/credentials.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { insertPushMessage } from '../../../../src/service/store/push/push.ts';
import { PushService } from '../../../support/push-service.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, idleEngine } from '../../helpers/engine.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';
import { ignoreReferences } from '../../helpers/stored.ts';

const ask: Behaviour = async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'P'.repeat(300) } });

/** A browser with pushes of two requests, of which none was sent. */
async function workshop() {
  const clock = new ManualClock();
  const api = await startApi({ clock, behaviours: { ask } });
  for (let count = 0; count < 2; count++) await api.until((await api.run('ask')).id, 'waiting');
  await api.service.close();
  const logEntries: unknown[][] = [];
  const options = { dataDirectory: api.dataDirectory, runtimes: [], push: { allow: ['loopback'] } };
  const engine = await idleEngine(clock, options, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const service = await PushService.start();
  const { store } = engine;
  const browser = service.subscribe();
  const { hash } = await store.selectFrom('tokens').select('hash').executeTakeFirstOrThrow();
  await subscribe(engine, (await findToken(store, hash, clock.now())) as TokenRecord, browser, 'http://127.0.0.1');
  const { id } = await store.selectFrom('push_subscriptions').select('id').executeTakeFirstOrThrow();
  const requests = await store.selectFrom('human_requests').select('id').orderBy('created_at').execute();
  for (const request of requests)
    await insertPushMessage(store, { subscription_id: id, request_id: request.id, tries: 0, due_at: clock.now() });
  return {
    ...{ clock, engine, store, service, id, logEntries, path: new URL(browser.endpoint).pathname },
    send: async (signal = new AbortController().signal) => pushJob.run(engine, await claimedJob(engine, pushJob.kind, id), signal),
    messages: () => store.selectFrom('push_messages').select(['tries', 'due_at']).execute(),
    subscriptions: async () => (await store.selectFrom('push_subscriptions').select('id').execute()).length,
    job: () => store.selectFrom('jobs').select(['status', 'due_at']).where('kind', '=', pushJob.kind).executeTakeFirstOrThrow(),
  };
}

it('sends what is due, with as much of the title as a notification shows, and rests', async () => {
  const { send, service, messages, job, logEntries } = await workshop();
  await send();
  expect(service.pushes.map(({ payload }) => payload.title)).toEqual(Array(2).fill('P'.repeat(200)));
  expect([await messages(), (await job()).status]).toEqual([[], 'parked']);
  expect(logEntries.map(([level, message]) => [level, message])).toEqual(Array(2).fill(['debug', 'push attempt']));
});

it('is due again when a failed push may be repeated', async () => {
  const { send, service, path, clock, messages, job, logEntries, subscriptions } = await workshop();
  service.statuses.set(path, 503);
  await send();
  // The service asks for two hours; the other push waits for its own turn.
  const due_at = clock.now() + 7_200_000;
  expect(await messages()).toContainEqual({ tries: 1, due_at });
  expect([service.pushes.length, (await job()).status, await subscriptions()]).toEqual([1, 'queued', 1]);
  expect(logEntries[0]).toMatchObject(['info', 'push attempt', { status: 503 }]);
});

it('sends nothing about a request that was answered in the meantime', async () => {
  const { send, service, store, messages } = await workshop();
  await sql`update human_requests set status = 'answered'`.execute(store);
  await send();
  expect([service.pushes, await messages()]).toEqual([[], []]);
});

it('ends a subscription that the browser has given up, or whose keys can no longer be read', async () => {
  const gone = await workshop();
  gone.service.statuses.set(gone.path, 410);
  await gone.send();
  expect([gone.service.pushes.length, await gone.subscriptions()]).toEqual([1, 0]);
  const unreadable = await workshop();
  await sql`update push_subscriptions set sealed = 'damaged'`.execute(unreadable.store);
  await unreadable.send();
  expect([unreadable.service.pushes.length, await unreadable.subscriptions()]).toEqual([0, 0]);
});

it('ends the subscription of a session that belongs to another team by now, or has ended', async () => {
  for (const change of [sql`update push_subscriptions set team_id = 'other'`, sql`delete from tokens`]) {
    const { send, service, store, subscriptions } = await workshop();
    await ignoreReferences(store, 'push_subscriptions');
    await change.execute(store);
    await send();
    expect([service.pushes.length, await subscriptions()]).toEqual([0, 0]);
  }
});

it.each([
  ['shutdown', 'queued'],
  ['stopped', 'running'],
] as const)('sends nothing once it is aborted because of %s: its job is %s', async (reason, expected) => {
  const { send, service, messages, job } = await workshop();
  await send(AbortSignal.abort(new JobAborted(reason)));
  expect([service.pushes.length, (await messages()).length, (await job()).status]).toEqual([0, 2, expected]);
});

it('leaves its job alone once another worker has it', async () => {
  const { store, engine, id, service, messages, job } = await workshop();
  const claim = await claimedJob(engine, pushJob.kind, id);
  await revokeJob(store, pushJob.kind, id);
  await pushJob.run(engine, claim, new AbortController().signal);
  // The push that was sent is sent again by whoever has the job.
  expect([service.pushes.length, (await messages()).length, (await job()).status]).toEqual([1, 2, 'done']);
});

it('keeps a subscription whose content is damaged in another way, and fails', async () => {
  const { send, store, engine, id, subscriptions } = await workshop();
  await sql`update push_subscriptions set sealed = ${engine.push.box.seal('{', id)}`.execute(store);
  await expect(send()).rejects.toThrow(SyntaxError);
  expect(await subscriptions()).toBe(1);
});

describe('the key pair of the service', () => {
  const storePair = (store: Store, value: string) => store.updateTable('settings').set({ value }).where('name', '=', 'push_key').execute();

  it('is replaced once when it can no longer be decrypted, together with the subscriptions that need it', async () => {
    const { engine, store, subscriptions } = await workshop();
    const { publicKey } = await vapidKeys(engine);
    expect([(await vapidKeys(engine)).publicKey, await subscriptions()]).toEqual([publicKey, 1]);
    await storePair(store, 'damaged');
    const replaced = await vapidKeys(engine);
    expect([replaced.publicKey === publicKey, await subscriptions()]).toEqual([false, 0]);
    expect((await vapidKeys(engine)).publicKey).toBe(replaced.publicKey);
  });

  it('stays if it is damaged in another way', async () => {
    const { engine, store, subscriptions } = await workshop();
    await vapidKeys(engine);
    await storePair(store, engine.push.box.seal('{', 'push_key'));
    await expect(vapidKeys(engine)).rejects.toThrow(SyntaxError);
    expect(await subscriptions()).toBe(1);
  });
});

/** What is recorded of an attempt to deliver an event, in a database without a service. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Attempt, type DeliveringEngine, recordAttempt } from '../../../../src/service/engine/webhooks/attempts.ts';
import type { DeliveryRow, JobRow } from '../../../../src/service/store/database/schema.ts';
import { revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, idleEngine } from '../../helpers/engine.ts';
import { repeating } from '../../helpers/repeating.ts';
import { allRows } from '../../helpers/rows.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** A team with three pending deliveries of one endpoint, of which the first is being attempted; another subscription gets all events. */
async function workshop({ ofRun = false, repeats = false } = {}) {
  const clock = new ManualClock();
  const logEntries: unknown[][] = [];
  const dataDirectory = await temporaryDirectory();
  await putEmptyDatabase(dataDirectory);
  const options = { dataDirectory, webhooks: { allow: ['loopback'], random: () => 0.5 } };
  const engine = await idleEngine(clock, options, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const { store } = engine;
  await sql`insert into teams (id, name, created_at) values ('t', 'Team', '')`.execute(store);
  for (const id of ['s', 'other'])
    await sql`insert into webhook_subscriptions (id, team_id, url, events, enabled, failures, created_at, updated_at)
      values (${id}, 't', 'http://127.0.0.1:9/new', '["*"]', 1, 0, '', '')`.execute(store);
  const subscription = ofRun ? null : 's';
  for (const id of ['d1', 'd2', 'd3']) {
    await sql`insert into events (id, team_id, kind, payload, created_at) values (${id}, 't', 'run.completed', '{}', '')`.execute(store);
    await sql`insert into deliveries (id, seq, team_id, event_id, kind, subscription_id, endpoint, url, status, tries, attempt_count, next_attempt_at, created_at)
      values (${id}, ${Number(id[1])}, 't', ${id}, 'run.completed', ${subscription}, 'e', 'http://127.0.0.1:9/', 'pending', 0, 0, ${clock.now()}, '')`.execute(
      store,
    );
  }
  const endpoint = subscription ?? 'e';
  await sql`update deliveries set endpoint = ${endpoint}`.execute(store);
  const job = (await claimedJob(engine, 'deliver', endpoint)) as JobRow;
  const wakes: string[] = [];
  const used = { ...engine, store: repeats ? repeating(store) : store, worker: { wake: () => wakes.push('wake') } };
  const delivering = used as unknown as DeliveringEngine;
  const delivery = (id = 'd1') => store.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return {
    ...{ store, clock, engine, logEntries, wakes, job, delivery, now: new Date(clock.now()).toISOString() },
    attempt: async (fields: Partial<Attempt>, row?: DeliveryRow) =>
      recordAttempt(delivering, job, row ?? (await delivery()), {
        ...{ url: 'http://127.0.0.1:9/new', startedAt: clock.now() - 7, duration: 7, status: 500, error: 'failed', body: 'oops' },
        ...{ retryAfter: undefined, ...fields },
      } as Attempt),
    attempts: () => store.selectFrom('delivery_attempts').selectAll().orderBy('number').execute(),
    subscription: (id = 's') => store.selectFrom('webhook_subscriptions').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    waits: async () => (await Promise.all(['d2', 'd3'].map(delivery))).map(({ next_attempt_at }) => Number(next_attempt_at) - clock.now()),
  };
}

const success = { status: 204, error: null, body: '' };

describe('an attempt', () => {
  it('that succeeds ends its delivery, and clears the failures of the subscription', async () => {
    const { store, attempt, attempts, delivery, subscription, logEntries, wakes, now, clock } = await workshop();
    await sql`update webhook_subscriptions set failures = 3, failing_since = 1, held_until = 2`.execute(store);
    expect(await attempt(success)).toBe(true);
    expect(await attempts()).toMatchObject([
      { delivery_id: 'd1', number: 1, started_at: new Date(clock.now() - 7).toISOString(), duration_ms: 7, status_code: 204, error: null },
    ]);
    expect(await delivery()).toMatchObject({
      ...{ status: 'delivered', attempt_count: 1, url: 'http://127.0.0.1:9/new', last_status_code: 204, last_error: null },
      ...{ next_attempt_at: null, completed_at: now },
    });
    expect(await subscription()).toMatchObject({ failures: 0, failing_since: null, held_until: null, last_delivered_at: now });
    expect((await subscription('other')).failures).toBe(3);
    expect([logEntries, wakes]).toEqual([
      [['debug', 'webhook attempt', { delivery: 'd1', kind: 'run.completed', host: '127.0.0.1:9', status: 204, error: null, ms: 7 }]],
      [],
    ]);
  });

  it('that fails is retried later, and counted', async () => {
    const { attempt, attempts, delivery, subscription, logEntries, waits, clock } = await workshop();
    expect(await attempt({})).toBe(true);
    clock.advance(1_000);
    await attempt({ status: null });
    expect((await attempts()).map(({ number, status_code, error }) => [number, status_code, error])).toEqual([
      [1, 500, 'failed'],
      [2, null, 'failed'],
    ]);
    const failedDelivery = { status: 'pending', tries: 2, attempt_count: 2, last_error: 'failed', completed_at: null };
    expect(await delivery()).toMatchObject({ ...failedDelivery, next_attempt_at: clock.now() + 5 * minute });
    expect(await subscription()).toMatchObject({ failures: 2, failing_since: clock.now() - 1_000, held_until: null, enabled: 1 });
    expect([logEntries.map(([level]) => level), await waits()]).toEqual([
      ['info', 'info'],
      [-1_000, -1_000],
    ]);
  });

  it('that asks for time postpones everything of its endpoint', async () => {
    const { attempt, delivery, subscription, waits, clock } = await workshop();
    await attempt({ status: 429 });
    expect([Number((await delivery()).next_attempt_at) - clock.now(), ...(await waits())]).toEqual([minute, minute, minute]);
    expect(await subscription()).toMatchObject({ failures: 1, held_until: clock.now() + minute });
    await attempt({ status: 500, retryAfter: 10 * minute });
    expect([await waits(), (await subscription()).held_until]).toEqual([[10 * minute, 10 * minute], clock.now() + 10 * minute]);
    // Another failure does not take that time back.
    await attempt({});
    expect([await waits(), (await subscription()).held_until]).toEqual([[10 * minute, 10 * minute], clock.now() + 10 * minute]);
  });

  it('that fails for the tenth time ends its delivery', async () => {
    const { store, attempt, delivery, now } = await workshop();
    await sql`update deliveries set tries = 8`.execute(store);
    await attempt({});
    expect(await delivery()).toMatchObject({ status: 'pending', tries: 9 });
    await attempt({});
    expect(await delivery()).toMatchObject({ status: 'failed', tries: 10, next_attempt_at: null, completed_at: now });
  });

  it('that is answered with 410 disables the subscription, which the others learn', async () => {
    const { store, attempt, delivery, subscription, wakes, now } = await workshop();
    await attempt({ status: 410 });
    expect(await delivery()).toMatchObject({ status: 'failed', completed_at: now });
    expect(await delivery('d2')).toMatchObject({ status: 'cancelled' });
    expect(await subscription()).toMatchObject({ enabled: 0, failures: 1, disabled_reason: 'the receiver answered 410 (gone)' });
    const recipients = await store.selectFrom('deliveries').select('subscription_id').where('kind', '=', 'webhook.disabled').execute();
    expect([recipients, wakes]).toEqual([[{ subscription_id: 'other' }], ['wake']]);
  });

  it('is recorded and logged once, although its transaction is executed twice', async () => {
    const { store, attempt, attempts, wakes, logEntries } = await workshop({ repeats: true });
    await attempt({ status: 410 });
    const recipients = await store.selectFrom('deliveries').select('subscription_id').where('kind', '=', 'webhook.disabled').execute();
    expect([recipients, wakes, (await attempts()).length]).toEqual([[{ subscription_id: 'other' }], ['wake'], 1]);
    expect(logEntries).toEqual([
      ['info', 'webhook attempt', expect.objectContaining({ status: 410 })],
      ['warn', 'a webhook subscription was disabled', { subscription: 's', reason: 'the receiver answered 410 (gone)' }],
    ]);
  });

  it('disables a subscription of which none has succeeded for five days', async () => {
    const { store, attempt, subscription, clock } = await workshop();
    await sql`update webhook_subscriptions set failures = 50, failing_since = ${clock.now() - 5 * day + minute}`.execute(store);
    await attempt({});
    expect((await subscription()).enabled).toBe(1);
    clock.advance(minute);
    await attempt({});
    const reason = `no attempt has succeeded since ${new Date(clock.now() - 5 * day).toISOString()}`;
    expect(await subscription()).toMatchObject({ enabled: 0, disabled_reason: reason });
  });

  it('that began before its subscription was disabled or deleted does not change why', async () => {
    const { store, attempt, subscription, delivery, wakes } = await workshop();
    await sql`update webhook_subscriptions set enabled = 0, disabled_reason = 'by request' where id = 's'`.execute(store);
    const row = await delivery();
    await sql`update deliveries set status = 'cancelled', next_attempt_at = null`.execute(store);
    await attempt({ status: 410 }, row);
    expect(await subscription()).toMatchObject({ disabled_reason: 'by request', failures: 1 });
    expect(await delivery()).toMatchObject({ status: 'cancelled', attempt_count: 1, next_attempt_at: null });
    await sql`update webhook_subscriptions set deleted_at = '2026-07-01' where id = 's'`.execute(store);
    await attempt({ status: 410 });
    expect([await subscription(), wakes]).toMatchObject([{ failures: 1 }, []]);
  });

  it('that began before the URL of its subscription was changed is repeated at once, and changes nothing else', async () => {
    for (const answer of [{ status: 410 }, { status: 429 }, { status: 500, retryAfter: day }]) {
      const { store, attempt, attempts, subscription, delivery, waits, clock } = await workshop();
      await sql`update webhook_subscriptions set url = 'http://127.0.0.1:9/newest' where id = 's'`.execute(store);
      const before = await subscription();
      clock.advance(1_000);
      await attempt(answer);
      expect([await subscription(), await waits(), (await attempts()).length]).toEqual([before, [-1_000, -1_000], 1]);
      expect(await delivery()).toMatchObject({ status: 'pending', tries: 0, attempt_count: 1, next_attempt_at: clock.now() });
    }
  });

  it('at the URL of a run concerns no subscription, and cancels what else is sent there if it is gone', async () => {
    const { store, attempt, delivery, wakes } = await workshop({ ofRun: true });
    const before = await store.selectFrom('webhook_subscriptions').selectAll().execute();
    await attempt({});
    expect([(await delivery()).status, (await delivery('d2')).status]).toEqual(['pending', 'pending']);
    await attempt(success, await delivery('d3'));
    await attempt({ status: 410 });
    expect(await delivery()).toMatchObject({ status: 'failed' });
    expect(await delivery('d2')).toMatchObject({ status: 'cancelled', last_error: 'the receiver answered 410 (gone)' });
    expect([await store.selectFrom('webhook_subscriptions').selectAll().execute(), wakes]).toEqual([before, []]);
  });

  it.each([success, { status: 410 }, {}])('is not recorded if the job was lost: %j', async (outcome) => {
    const { store, attempt, wakes } = await workshop();
    await revokeJob(store, 'deliver', 's');
    const before = await allRows(store);
    expect(await attempt(outcome)).toBe(false);
    expect([await allRows(store), wakes]).toEqual([before, []]);
  });
});

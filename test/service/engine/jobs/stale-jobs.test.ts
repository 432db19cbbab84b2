/**
 * A worker that has lost its job, to another worker or because it was revoked, may still be executing it. Whatever it does changes
 * nothing in the database.
 */
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { engineJobs } from '../../../../src/service/engine/engine-jobs.ts';
import { subscribe } from '../../../../src/service/engine/push/subscriptions.ts';
import { vapidKeys } from '../../../../src/service/engine/push/vapid.ts';
import { deliverJob } from '../../../../src/service/engine/webhooks/delivery.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { findToken, type TokenRecord } from '../../../../src/service/store/access/credentials.ts';
import { beginEvaluation } from '../../../../src/service/store/agents/evaluations.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { type ClaimedJob, nudgeJob, revokeJob, takeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';
import { insertPushMessage, pushSubscriptionsOf } from '../../../../src/service/store/push/push.ts';
import { PushService } from '../../../support/push-service.ts';
import { whenDone } from '../../../support/temporary.ts';
import { Receiver } from '../../../support/webhook-receiver.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, idleEngine } from '../../helpers/engine.ts';
import { fillable, type OwnedIds, withEverything } from '../../helpers/everything.ts';
import { allRows } from '../../helpers/rows.ts';
import { testRuntime } from '../../helpers/runtime.ts';

const clock = new ManualClock();
let engine: StartableEngine;
let ownedIds: OwnedIds;
let receiver: Receiver;
let pushService: PushService;

beforeAll(async () => {
  const api = await fillable({ clock });
  ownedIds = await withEverything(api);
  await api.service.close();
  [receiver, pushService] = [await Receiver.start(), await PushService.start(whenDone)];
  engine = await idleEngine(clock, {
    dataDirectory: api.dataDirectory,
    runtimes: [scriptRuntime, testRuntime({ everything: async () => ({ status: 'completed' }) })],
    webhooks: { allow: ['loopback'] },
    push: { allow: ['loopback'] },
  });
});

afterAll(async () => {
  await closeEngine(engine);
  await receiver.close();
});

let subscriptionId: string;

/** What each kind of job works on, and how to give it something to do. */
const work: Record<string, { subject: () => string; prepare: (db: Kysely<Database>) => Promise<unknown> }> = {
  [jobKinds.run]: {
    subject: () => ownedIds.run_id as string,
    prepare: (db) => sql`update runs set status = 'pending'`.execute(db),
  },
  [jobKinds.evaluate]: {
    subject: () => ownedIds.run_id as string,
    prepare: async (db) => {
      const endState = { status: 'completed', completed_at: '2026-07-18T10:00:00.000Z' } as const;
      await db.updateTable('runs').set(endState).execute();
      await beginEvaluation(db, ownedIds.run_id as string, '2026-07-18T10:00:00.000Z');
    },
  },
  [jobKinds.deliver]: {
    subject: () => ownedIds.subscriptionId as string,
    prepare: async (db) => {
      await sql`update webhook_subscriptions set url = ${receiver.url}, deleted_at = null, expires_at = null`.execute(db);
      await sql`update deliveries set status = 'pending', next_attempt_at = 0`.execute(db);
    },
  },
  [jobKinds.dispatchCases]: {
    subject: () => ownedIds.queue_id as string,
    prepare: (db) => sql`update case_triggers set enabled = 1`.execute(db),
  },
  [jobKinds.schedule]: {
    subject: () => ownedIds.schedule_id as string,
    prepare: (db) => sql`update schedules set next_at = 1`.execute(db),
  },
  [jobKinds.builderRun]: {
    subject: () => ownedIds.builder_run_id as string,
    prepare: (db) => sql`update builder_runs set status = 'running', started_at = null`.execute(db),
  },
  [jobKinds.artifact]: {
    subject: () => ownedIds.artifactId as string,
    prepare: (db) => sql`update artifacts set status = 'pending', generation = '{"kind":"refresh"}'`.execute(db),
  },
  [jobKinds.refreshArtifact]: {
    subject: () => ownedIds.artifactId as string,
    prepare: (db) => sql`update artifacts set refresh_frequency = 'daily', status = 'completed', generation = null`.execute(db),
  },
  [jobKinds.push]: {
    subject: () => subscriptionId,
    prepare: async (db) => {
      const { hash } = await db.selectFrom('tokens').selectAll().executeTakeFirstOrThrow();
      await subscribe(engine, (await findToken(db, hash, clock.now())) as TokenRecord, pushService.subscribe(), 'http://127.0.0.1');
      subscriptionId = (await pushSubscriptionsOf(db, hash)).at(-1)?.id as string;
      await vapidKeys(engine);
      await sql`update human_requests set status = 'pending'`.execute(db);
      const request_id = ownedIds.request_id as string;
      await insertPushMessage(db, { subscription_id: subscriptionId, request_id, tries: 0, due_at: 0 });
      await nudgeJob(db, { kind: jobKinds.push, subjectId: subscriptionId, dueAt: 0 });
    },
  },
  [jobKinds.remind]: {
    subject: () => ownedIds.teamId as string,
    prepare: async (db) => {
      await sql`update teams set remind_after = 60000`.execute(db);
      await sql`update human_requests set status = 'pending', remind_at = 0`.execute(db);
    },
  },
  [jobKinds.expireWebhook]: {
    subject: () => ownedIds.subscriptionId as string,
    prepare: (db) => sql`update webhook_subscriptions set expires_at = 0`.execute(db),
  },
};

/** They remove what has expired, which is right whoever does it. */
const removals: string[] = [
  jobKinds.expireSandbox,
  jobKinds.expireRunSandboxes,
  jobKinds.forgetDeliveries,
  jobKinds.forgetRuns,
  jobKinds.forgetKeys,
];

const losses: [string, (job: ClaimedJob) => Promise<unknown>][] = [
  ['another worker claimed', (job) => takeJob(engine.store, job, { owner: 'other', now: clock.now(), lease: 60_000 })],
  ['was revoked', ({ kind, subject_id }) => revokeJob(engine.store, kind, subject_id)],
];

it('every kind of job that does not only remove something is tried', () => {
  expect([...Object.keys(work), ...removals].sort()).toEqual(Object.values(jobKinds).sort());
});

it.each(Object.keys(work))('a worker that lost a job of the kind %s writes nothing', async (kind) => {
  const { subject, prepare } = work[kind] as NonNullable<(typeof work)[string]>;
  const job = engineJobs.find((candidate) => candidate.kind === kind);
  const execute = async (claim: ClaimedJob) => job?.run(engine, claim, new AbortController().signal);
  for (const [reason, lose] of losses) {
    await prepare(engine.store);
    const staleJob = await claimedJob(engine, kind, subject());
    await lose(staleJob);
    const before = await allRows(engine.store);
    await execute(staleJob);
    expect(await allRows(engine.store), `a job that ${reason}`).toEqual(before);
  }
  const ownJob = await claimedJob(engine, kind, subject());
  const before = await allRows(engine.store);
  await execute(ownJob);
  const { jobs: _, ...after } = await allRows(engine.store);
  expect(after).not.toEqual({ ...before, jobs: undefined });
});

it('a worker that lost the job of an endpoint sends each event once at most', async () => {
  const { subject, prepare } = work[jobKinds.deliver] as NonNullable<(typeof work)[string]>;
  await prepare(engine.store);
  const [, lose] = losses[0] as (typeof losses)[number];
  const staleJob = await claimedJob(engine, jobKinds.deliver, subject());
  await lose(staleJob);
  receiver.deliveries.length = 0;
  await deliverJob.run(engine, staleJob, new AbortController().signal);
  const sentIds = receiver.deliveries.map(({ headers }) => headers['webhook-id']);
  expect(sentIds).not.toEqual([]);
  expect(sentIds).toEqual([...new Set(sentIds)]);
});

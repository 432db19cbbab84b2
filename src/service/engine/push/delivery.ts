/**
 * Sends pushes to browsers, with one job for each subscription. A push is a hint: it is retried a few times and then dropped, and it
 * is dropped when its request has been answered. It says no more than a notification shows, and nothing in it can answer a request.
 */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { holdTime } from '../../outbound/attempt-times.ts';
import { UnreadableSecretError } from '../../secret-box.ts';
import { findToken } from '../../store/access/credentials.ts';
import type { JobRow, PushSubscriptionRow } from '../../store/database/schema.ts';
import { holdsJob, nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import {
  type DuePush,
  deletePushMessage,
  deletePushSubscription,
  duePush,
  findPushSubscription,
  nextPushTime,
  postponePush,
} from '../../store/push/push.ts';
import type { HasClock, HasLog, HasPush, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { isShutdown } from '../jobs/leave.ts';
import { encryptPush } from './encryption.ts';
import { type BrowserSubscription, openSubscription } from './subscriptions.ts';
import { vapidHeader, vapidKeys } from './vapid.ts';

type PushEngine = HasStore & HasClock & HasLog & HasPush;

/** Milliseconds before the second attempt, the third attempt, and so on. After the last one, the push is dropped. */
const waits = [30_000, 5 * 60_000, 30 * 60_000, 2 * 3_600_000];
/** Seconds for which the push service stores a push for a browser that is not connected. */
const timeToLive = 24 * 3_600;
/** Characters of the title; a notification shows fewer. */
const maxTitle = 200;

/** Sends what is due to one subscription. */
export const pushJob = defineJob({ kind: jobKinds.push, concurrency: 8, run: sendDue });

async function sendDue(engine: PushEngine, job: JobRow, signal: AbortSignal): Promise<void> {
  const subscription = await validSubscription(engine, job.subject_id);
  while (subscription !== undefined && !signal.aborted) {
    const message = await duePush(engine.store, subscription.row.id, engine.clock.now());
    if (message === undefined || !(await attempt(engine, job, subscription, message, signal))) break;
  }
  if (signal.aborted && !isShutdown(signal)) return;
  await release(engine, job);
}

interface Target {
  row: PushSubscriptionRow;
  browser: BrowserSubscription;
}

/** The subscription, if its session may still read the team's requests. Otherwise it is removed. */
async function validSubscription(engine: PushEngine, id: string): Promise<Target | undefined> {
  const row = await findPushSubscription(engine.store, id);
  if (row === undefined) return undefined;
  const token = await findToken(engine.store, row.token_hash, engine.clock.now());
  try {
    if (token?.teamId === row.team_id) return { row, browser: openSubscription(engine, row) };
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
  }
  await deletePushSubscription(engine.store, id);
  return undefined;
}

/** Makes an attempt. Returns whether to continue with the next push. */
async function attempt(engine: PushEngine, job: JobRow, { row, browser }: Target, message: DuePush, signal: AbortSignal): Promise<boolean> {
  const { store, clock, push } = engine;
  if (!message.isPending) {
    await deletePushMessage(store, message);
    return true;
  }
  const headers = {
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    authorization: vapidHeader(await vapidKeys(engine), browser.endpoint, row.site, clock.now()),
    ttl: String(timeToLive),
    urgency: 'high',
    // A push that is still stored is replaced by a later one about the same request (RFC 8030 section 5.4).
    topic: hash('sha256', message.request_id, 'base64url').slice(0, 32),
  };
  const result = await push.sender.post(browser.endpoint, headers, encryptPush(payloadOf(message), browser.keys), signal);
  const endedAt = clock.now();
  engine.log(result.error === null ? 'debug' : 'info', 'push attempt', {
    ...{ subscription: row.id, host: new URL(browser.endpoint).host, status: result.status },
    ...{ error: result.error, ms: result.duration },
  });
  return store.transaction().execute(async (trx) => {
    // Whichever worker has the job sends it again; the browser shows one notification for each request.
    if (!(await holdsJob(trx, job))) return false;
    const next = followUp(message.tries, result, push.timing);
    if (next === 'unsubscribe') await deletePushSubscription(trx, row.id);
    else if (next === 'drop') await deletePushMessage(trx, message);
    else await postponePush(trx, message, endedAt + next);
    return next === 'drop';
  });
}

/**
 * What follows an attempt: the push is dropped, because it was sent or cannot be sent; it is retried after some milliseconds; or the
 * browser no longer exists (RFC 8030 section 7.3).
 */
export function followUp(
  tries: number,
  { status, error, retryAfter }: { status: number | null; error: string | null; retryAfter: number | undefined },
  timing: HasPush['push']['timing'],
): 'drop' | 'unsubscribe' | number {
  if (error === null) return 'drop';
  if (status === 404 || status === 410) return 'unsubscribe';
  const canPass = status === null || status === 408 || status === 429 || status >= 500;
  const wait = waits[tries];
  if (!canPass || wait === undefined) return 'drop';
  const delay = wait * timing.scale * (0.8 + 0.4 * timing.random());
  return Math.round(Math.max(delay, holdTime({ retryAfter, isBusy: false }, timing) ?? 0));
}

/** The content of the notification. The link is relative to the page, and opens the run without deciding anything. */
const payloadOf = ({ title, run_id, run_number, request_id }: DuePush): Buffer =>
  Buffer.from(JSON.stringify({ title: title.slice(0, maxTitle), run_number, link: `/#/runs/${run_id}`, request_id }));

/** Releases the job before it checks for more work, so that pushes added in the meantime are not overlooked. */
async function release({ store, clock }: PushEngine, job: JobRow): Promise<void> {
  await store.transaction().execute(async (trx) => {
    if (!(await releaseJob(trx, job, { status: 'parked' }))) return;
    const due = await nextPushTime(trx, job.subject_id);
    if (due !== undefined) await nudgeJob(trx, { kind: jobKinds.push, subjectId: job.subject_id, dueAt: Math.max(due, clock.now()) });
  });
}

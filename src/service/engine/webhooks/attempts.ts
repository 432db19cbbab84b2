/** What follows an attempt: the delivery has succeeded, is retried, or has failed, and its subscription might be disabled. */
import { deliveryStatuses } from '../../../interface/webhook-events.ts';
import { holdTime, isSustained, nextWait } from '../../outbound/attempt-times.ts';
import type { SendResult } from '../../outbound/sender.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { DeliveryRow, JobRow, WebhookRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { holdsJob } from '../../store/jobs/jobs.ts';
import { cancelDeliveries, changeDelivery, holdDeliveries, insertAttempt } from '../../store/webhooks/deliveries.ts';
import { findWebhook, updateWebhookRow } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasLog, HasStore, HasWebhooks, HasWorker } from '../engine.ts';
import { disableWebhook } from './subscriptions.ts';

/** The parts of the engine that are needed to deliver webhooks. */
export type DeliveringEngine = HasStore & HasClock & HasLog & HasWorker & HasWebhooks;

export type Attempt = SendResult & { url: string; startedAt: number };

/** Statuses with which a receiver reports that it is overloaded (Standard Webhooks 1.0). */
const busyStatuses = [429, 502, 504];

/** The current URL of a delivery, and the format of its body. Undefined if its subscription was deleted or disabled, which cancels the delivery. */
export async function targetOf(
  engine: HasStore & HasClock,
  delivery: DeliveryRow,
): Promise<Pick<WebhookRow, 'url' | 'format'> | undefined> {
  if (delivery.subscription_id === null) return { url: delivery.url, format: 'standard' };
  const row = await findWebhook(engine.store, delivery.team_id, delivery.subscription_id);
  if (row?.enabled === 1) return row;
  const reason = row === undefined ? 'the subscription was deleted' : 'the subscription is disabled';
  await cancelDeliveries(engine.store, delivery.endpoint, reason, isoTime(engine.clock.now()));
  return undefined;
}

/**
 * Records the outcome of an attempt, unless the job was lost meanwhile: whichever worker has it retries under the same ID. Returns
 * whether the job is still held.
 */
export async function recordAttempt(engine: DeliveringEngine, job: JobRow, delivery: DeliveryRow, attempt: Attempt): Promise<boolean> {
  const now = engine.clock.now();
  const result = await engine.store.transaction().execute(async (trx): Promise<Recorded | undefined> => {
    if (!(await holdsJob(trx, job))) return undefined;
    // Before its deliveries, as whoever disables or deletes it does.
    if (delivery.subscription_id !== null) await lockRows(trx, 'webhook_subscriptions', [delivery.subscription_id]);
    const number = delivery.attempt_count + 1;
    await insertAttempt(trx, {
      delivery_id: delivery.id,
      number,
      started_at: isoTime(attempt.startedAt),
      duration_ms: attempt.duration,
      status_code: attempt.status,
      error: attempt.error,
      response_body: attempt.body,
    });
    const log = { attempt_count: number, url: attempt.url, last_status_code: attempt.status, last_error: attempt.error };
    if (attempt.error === null) return recordSuccess(trx, delivery, log, isoTime(now));
    return recordFailure(engine, trx, delivery, { ...attempt, log }, now);
  });
  const { status, error } = attempt;
  engine.log(error === null ? 'debug' : 'info', 'webhook attempt', {
    delivery: delivery.id,
    kind: delivery.kind,
    host: new URL(attempt.url).host,
    status,
    error,
    ms: attempt.duration,
  });
  if (result?.disabledReason !== undefined)
    engine.log('warn', 'a webhook subscription was disabled', { subscription: delivery.subscription_id, reason: result.disabledReason });
  if (result?.shouldWake) engine.worker.wake();
  return result !== undefined;
}

/** What was recorded of an attempt. */
interface Recorded {
  /** Whether there is something new to deliver. */
  shouldWake: boolean;
  /** Why the subscription was disabled, if it was. */
  disabledReason?: string;
}

const nothingNew: Recorded = { shouldWake: false };

type Log = Pick<DeliveryRow, 'attempt_count' | 'url' | 'last_status_code' | 'last_error'>;

async function recordSuccess(trx: Queries, delivery: DeliveryRow, log: Log, now: string): Promise<Recorded> {
  // A delivery that was cancelled during the attempt has arrived anyway.
  await changeDelivery(trx, delivery.id, deliveryStatuses, { ...log, status: 'delivered', next_attempt_at: null, completed_at: now });
  if (delivery.subscription_id !== null) {
    const changes = { failures: 0, failing_since: null, held_until: null, last_delivered_at: now };
    await updateWebhookRow(trx, delivery.subscription_id, changes);
  }
  return nothingNew;
}

/** Records a failed attempt. */
async function recordFailure(
  engine: HasClock & HasWebhooks,
  trx: Queries,
  delivery: DeliveryRow,
  attempt: Attempt & { log: Log },
  now: number,
): Promise<Recorded> {
  const { timing } = engine.webhooks;
  const row = delivery.subscription_id === null ? undefined : await findWebhook(trx, delivery.team_id, delivery.subscription_id);
  await changeDelivery(trx, delivery.id, deliveryStatuses, attempt.log);
  // What the previous URL answered says nothing about the one that the subscription has now.
  if (row !== undefined && row.url !== attempt.url) {
    await changeDelivery(trx, delivery.id, ['pending'], { next_attempt_at: now });
    return nothingNew;
  }
  const isGone = attempt.status === 410;
  const request = { retryAfter: attempt.retryAfter, isBusy: busyStatuses.includes(attempt.status ?? 0) };
  const tries = delivery.tries + 1;
  const wait = isGone ? undefined : nextWait(tries, request, timing);
  const endedFields = { status: 'failed' as const, next_attempt_at: null, completed_at: isoTime(now) };
  await changeDelivery(trx, delivery.id, ['pending'], { tries, ...(wait === undefined ? endedFields : { next_attempt_at: now + wait }) });
  const hold = isGone ? undefined : holdTime(request, timing);
  if (hold !== undefined) await holdDeliveries(trx, delivery.endpoint, now + hold);
  if (delivery.subscription_id === null && isGone)
    await cancelDeliveries(trx, delivery.endpoint, 'the receiver answered 410 (gone)', isoTime(now));
  return row === undefined
    ? nothingNew
    : countFailure(engine, trx, row, { isGone, heldUntil: hold === undefined ? null : now + hold, now });
}

async function countFailure(
  engine: HasClock & HasWebhooks,
  trx: Queries,
  row: WebhookRow,
  { isGone, heldUntil, now }: { isGone: boolean; heldUntil: number | null; now: number },
): Promise<Recorded> {
  const failures = row.failures + 1;
  const failingSince = row.failing_since === null ? now : Number(row.failing_since);
  await updateWebhookRow(trx, row.id, { failures, failing_since: failingSince, ...(heldUntil === null ? {} : { held_until: heldUntil }) });
  if (row.enabled === 0) return nothingNew;
  if (isGone) return disable(engine, trx, row, 'the receiver answered 410 (gone)');
  if (!isSustained(failures, failingSince, now, engine.webhooks.timing)) return nothingNew;
  return disable(engine, trx, row, `no attempt has succeeded since ${isoTime(failingSince)}`);
}

const disable = async (engine: HasClock, trx: Queries, row: WebhookRow, reason: string): Promise<Recorded> => ({
  shouldWake: await disableWebhook(engine, trx, row, reason),
  disabledReason: reason,
});

/**
 * Delivers events to endpoints, at least once and in no particular order. There is one job for each endpoint, so an endpoint has one
 * worker and a bounded number of requests at a time. It gives its slot back after a while if others are waiting: an endpoint that
 * hangs does not slow down others, and a request that hangs only occupies itself.
 */
import { systemClock } from '../../../base/clock.ts';
import type { DeliveryRow, JobRow } from '../../store/database/schema.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { dueDeliveries, eventById, nextDeliveryTime } from '../../store/webhooks/deliveries.ts';
import type { HasClock, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { isShutdown } from '../jobs/leave.ts';
import { type DeliveringEngine, recordAttempt, targetOf } from './attempts.ts';
import { deliveryBody } from './chat/body.ts';
import { teamSecrets } from './secrets.ts';
import { signedHeaders } from './signature.ts';

/** Endpoints that are delivered to at the same time. */
const concurrentEndpoints = 32;
/** Requests to one endpoint at the same time. */
const perEndpoint = 4;
/** Deliveries, and milliseconds, after which an endpoint gives its slot to the next one that is waiting. */
const turnLength = 50;
const turnTime = 5_000;
/** Milliseconds of real time that requests have to end when the service shuts down. */
const closingGrace = 2_000;

/** Delivers what is due at one endpoint. */
export const deliverJob = defineJob({ kind: jobKinds.deliver, concurrency: concurrentEndpoints, run: deliverDue });

async function deliverDue(engine: DeliveringEngine, job: JobRow, signal: AbortSignal): Promise<void> {
  const endpoint = job.subject_id;
  const inProgress = new Map<string, Promise<void>>();
  const abortRequests = new AbortController();
  const failures: unknown[] = [];
  let isLost = false;
  const abortPromise = new Promise<void>((resolve) => {
    const onAbort = (): void => {
      resolve();
      if (isShutdown(signal))
        void systemClock.sleep(closingGrace, abortRequests.signal).then(
          () => abortRequests.abort(),
          () => undefined,
        );
      else abortRequests.abort();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  const newTurn = () => ({ end: engine.clock.now() + turnTime, startedCount: 0 });
  let turn = newTurn();
  while (!signal.aborted && !isLost && failures.length === 0) {
    // Taken before polling, so that deliveries added after the poll do not go unnoticed.
    const wake = engine.worker.nextWake();
    const now = engine.clock.now();
    const isOver = now >= turn.end || turn.startedCount >= turnLength;
    if (isOver && !(await engine.worker.isWaitedFor(jobKinds.deliver))) turn = newTurn();
    const capacity = now < turn.end ? Math.min(perEndpoint - inProgress.size, turnLength - turn.startedCount) : 0;
    const due =
      capacity > 0 ? await dueDeliveries(engine.store, endpoint, { now, excludedIds: [...inProgress.keys()], limit: capacity }) : [];
    for (const delivery of due) {
      turn.startedCount += 1;
      const work = attempt(engine, job, delivery, abortRequests.signal)
        .then((isHeld) => {
          isLost ||= !isHeld;
        })
        .catch((error: unknown) => void (abortRequests.signal.aborted || failures.push(error)))
        .finally(() => inProgress.delete(delivery.id));
      inProgress.set(delivery.id, work);
    }
    if (inProgress.size === 0) break;
    await Promise.race([...inProgress.values(), abortPromise, wake]);
  }
  await Promise.all(inProgress.values());
  abortRequests.abort();
  if (failures.length > 0) throw failures[0];
  if (signal.aborted && !isShutdown(signal)) return;
  await release(engine, job);
}

/** Releases the job before it checks for more work, so that deliveries added in the meantime are not overlooked. */
async function release(engine: HasStore & HasClock, job: JobRow): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    if (!(await releaseJob(trx, job, { status: 'parked' }))) return;
    const due = await nextDeliveryTime(trx, job.subject_id);
    // Not earlier than now, so that endpoints that have been waiting come first.
    if (due !== undefined)
      await nudgeJob(trx, { kind: jobKinds.deliver, subjectId: job.subject_id, dueAt: Math.max(due, engine.clock.now()) });
  });
}

/** Makes an attempt. Returns whether the job is still held: otherwise its new owner delivers. */
async function attempt(engine: DeliveringEngine, job: JobRow, delivery: DeliveryRow, signal: AbortSignal): Promise<boolean> {
  const target = await targetOf(engine, delivery);
  if (target === undefined) return true;
  const { url, format } = target;
  const body = deliveryBody(format, await eventById(engine.store, delivery.event_id), engine.webhooks.links);
  const { current, previous } = await teamSecrets(engine, delivery.team_id);
  const startedAt = engine.clock.now();
  const secrets = [current, ...(previous === undefined ? [] : [previous])].map((row) => row.secret);
  const response = await engine.webhooks.sender.post(url, signedHeaders(secrets, delivery.event_id, startedAt, body), body, signal);
  return recordAttempt(engine, job, delivery, { ...response, url, startedAt });
}

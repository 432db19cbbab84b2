/**
 * Delivers what is due at an endpoint. There is one job for each endpoint, so it has one worker and a bounded number of requests
 * at a time, and gives its place back after a while when others wait for one: an endpoint that hangs takes nothing from the others, and
 * one request that hangs takes its own place alone. At least once, in no order.
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
import { teamSecrets } from './secrets.ts';
import { signedHeaders } from './signature.ts';

/** Endpoints that are delivered to at the same time. */
const concurrentEndpoints = 32;
/** Requests to one endpoint at the same time. */
const perEndpoint = 4;
/** Deliveries, and milliseconds, after which an endpoint gives its worker to the next that waits. */
const turnLength = 50;
const turnTime = 5_000;
/** Milliseconds of real time that requests get to end when the service does. */
const closingGrace = 2_000;

/** Delivers what is due at one endpoint. */
export const deliverJob = defineJob({ kind: jobKinds.deliver, concurrency: concurrentEndpoints, run: deliverDue });

async function deliverDue(engine: DeliveringEngine, job: JobRow, signal: AbortSignal): Promise<void> {
  const endpoint = job.subject_id;
  const underWay = new Map<string, Promise<void>>();
  const cut = new AbortController();
  const failures: unknown[] = [];
  const aborted = new Promise<void>((resolve) => {
    const onAbort = (): void => {
      resolve();
      if (isShutdown(signal))
        void systemClock.sleep(closingGrace, cut.signal).then(
          () => cut.abort(),
          () => undefined,
        );
      else cut.abort();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  const newTurn = () => ({ end: engine.clock.now() + turnTime, begun: 0 });
  let turn = newTurn();
  while (!signal.aborted && failures.length === 0) {
    // Before the look for work: what is added after it must not go unnoticed.
    const woken = engine.worker.woken();
    const now = engine.clock.now();
    const isOver = now >= turn.end || turn.begun >= turnLength;
    if (isOver && !(await engine.worker.isWaitedFor(jobKinds.deliver))) turn = newTurn();
    const room = now < turn.end ? Math.min(perEndpoint - underWay.size, turnLength - turn.begun) : 0;
    const due = room > 0 ? await dueDeliveries(engine.store, endpoint, { now, except: [...underWay.keys()], limit: room }) : [];
    for (const delivery of due) {
      turn.begun += 1;
      const work = attempt(engine, job, delivery, cut.signal)
        .catch((error: unknown) => void (cut.signal.aborted || failures.push(error)))
        .finally(() => underWay.delete(delivery.id));
      underWay.set(delivery.id, work);
    }
    if (underWay.size === 0) break;
    await Promise.race([...underWay.values(), aborted, woken]);
  }
  await Promise.all(underWay.values());
  cut.abort();
  if (failures.length > 0) throw failures[0];
  if (signal.aborted && !isShutdown(signal)) return;
  await release(engine, job);
}

/** Releases the job first and looks for more work then, so that what was added meanwhile is not overlooked. */
async function release(engine: HasStore & HasClock, job: JobRow): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    if (!(await releaseJob(trx, job, { status: 'parked' }))) return;
    const due = await nextDeliveryTime(trx, job.subject_id);
    // Not earlier than now: the endpoints that have waited meanwhile come first.
    if (due !== undefined)
      await nudgeJob(trx, { kind: jobKinds.deliver, subjectId: job.subject_id, dueAt: Math.max(due, engine.clock.now()) });
  });
}

async function attempt(engine: DeliveringEngine, job: JobRow, delivery: DeliveryRow, signal: AbortSignal): Promise<void> {
  const url = await targetOf(engine, delivery);
  if (url === undefined) return;
  const { payload } = await eventById(engine.store, delivery.event_id);
  const { current, previous } = await teamSecrets(engine, delivery.team_id);
  const at = engine.clock.now();
  const secrets = [current, ...(previous === undefined ? [] : [previous])].map((row) => row.secret);
  const sent = await engine.webhooks.sender.post(url, signedHeaders(secrets, delivery.event_id, at, payload), payload, signal);
  await recordAttempt(engine, job, delivery, { ...sent, url, at });
}

/** How long deliveries that have ended are kept: 30 days, and of each team no more than its newest 10,000. */

import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { oldDeliveries, removeDeletedWebhooks, removeDeliveries, surplusDeliveries } from '../../store/webhooks/deliveries.ts';
import type { HasClock, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

const keptTime = 30 * 24 * 60 * 60 * 1_000;
const keptNumber = 10_000;
const interval = 60 * 60 * 1_000;
/** Rows removed in one transaction, so that nobody waits long for it. */
const portion = 500;

/** Removes old deliveries every hour. */
export const forgetDeliveriesJob = defineJob({
  kind: jobKinds.forgetDeliveries,
  concurrency: 1,
  run: forgetDeliveries,
  atStart: planForgetting,
});

async function planForgetting({ store, clock }: HasStore & HasClock): Promise<void> {
  await nudgeJob(store, { kind: jobKinds.forgetDeliveries, subjectId: 'all', dueAt: clock.now() });
}

async function forgetDeliveries(engine: HasStore & HasClock, job: JobRow, signal: AbortSignal): Promise<void> {
  const { store } = engine;
  const before = isoTime(engine.clock.now() - keptTime);
  await inPortions(engine, signal, () => oldDeliveries(store, before, portion));
  const teams = await store.selectFrom('teams').select('id').execute();
  for (const { id } of teams) await inPortions(engine, signal, () => surplusDeliveries(store, id, keptNumber, portion));
  await removeDeletedWebhooks(store);
  await releaseJob(store, job, { status: 'queued', dueAt: engine.clock.now() + interval });
}

async function inPortions({ store }: HasStore, signal: AbortSignal, find: () => Promise<string[]>): Promise<void> {
  for (let ids = await find(); ids.length > 0 && !signal.aborted; ids = await find())
    await store.transaction().execute((trx) => removeDeliveries(trx, ids));
}

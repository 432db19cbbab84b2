/** How long ended deliveries are retained: 30 days, and no more than the newest 10,000 of each team. */

import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { oldDeliveries, removeDeletedWebhooks, removeDeliveries, surplusDeliveries } from '../../store/webhooks/deliveries.ts';
import type { HasClock, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

const retentionTime = 30 * 24 * 60 * 60 * 1_000;
const maxDeliveries = 10_000;
const interval = 60 * 60 * 1_000;
/** Rows removed in one transaction; few enough that nothing else waits long. */
const batchSize = 500;

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
  const before = isoTime(engine.clock.now() - retentionTime);
  await removeInBatches(engine, signal, () => oldDeliveries(store, before, batchSize));
  const teams = await store.selectFrom('teams').select('id').execute();
  for (const { id } of teams) await removeInBatches(engine, signal, () => surplusDeliveries(store, id, maxDeliveries, batchSize));
  await removeDeletedWebhooks(store);
  await releaseJob(store, job, { status: 'queued', dueAt: engine.clock.now() + interval });
}

async function removeInBatches({ store }: HasStore, signal: AbortSignal, find: () => Promise<string[]>): Promise<void> {
  for (let ids = await find(); ids.length > 0 && !signal.aborted; ids = await find())
    await store.transaction().execute((trx) => removeDeliveries(trx, ids));
}

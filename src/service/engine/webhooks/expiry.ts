/** Temporary webhooks, which are deleted at a certain time unless they are extended before. */
import type { Queries } from '../../store/database/database.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { cancelDeliveries } from '../../store/webhooks/deliveries.ts';
import { updateWebhookRow, webhookExpiryOf } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

/** Plans the deletion of a webhook, within the transaction that sets its time (in milliseconds). Wake the worker after the commit. */
export const planExpiry = (trx: Queries, id: string, expiresAt: number): Promise<void> =>
  nudgeJob(trx, { kind: jobKinds.expireWebhook, subjectId: id, dueAt: expiresAt });

/** Marks a webhook as deleted and cancels its pending deliveries, within a transaction. The log of its deliveries is retained. */
export async function markDeleted(trx: Queries, id: string, reason: string, now: string): Promise<void> {
  await updateWebhookRow(trx, id, { deleted_at: now, updated_at: now });
  await cancelDeliveries(trx, id, reason, now);
}

/** Deletes a webhook whose time has passed. */
export const expireWebhookJob = defineJob({ kind: jobKinds.expireWebhook, concurrency: 1, run: expireWebhook });

async function expireWebhook(engine: HasStore & HasClock, job: JobRow): Promise<void> {
  const id = job.subject_id;
  await engine.store.transaction().execute(async (trx) => {
    const now = engine.clock.now();
    const expiresAt = await webhookExpiryOf(trx, id);
    // It may have been extended after the job was planned.
    const isLater = expiresAt !== undefined && expiresAt > now;
    if (!(await releaseJob(trx, job, isLater ? { status: 'queued', dueAt: expiresAt } : { status: 'done' }))) return;
    if (expiresAt !== undefined && !isLater) await markDeleted(trx, id, 'the temporary subscription has expired', isoTime(now));
  });
}

/** Delivers an event again. */
import { notFound, ServiceError } from '../../errors.ts';
import type { Queries } from '../../store/database/database.ts';
import type { DeliveryRow } from '../../store/database/schema.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { changeDelivery, findDelivery } from '../../store/webhooks/deliveries.ts';
import { findWebhook } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';

/**
 * Delivers an event again under the same ID, immediately and with a new retry schedule. A pending delivery is only brought forward.
 * Throws 404, 409 `webhook_deleted`, or 409 `webhook_disabled`.
 */
export async function resendDelivery(engine: HasStore & HasClock & HasWorker, teamId: string, id: string): Promise<DeliveryRow> {
  const now = engine.clock.now();
  const changedDelivery = await engine.store.transaction().execute(async (trx) => {
    const endpoint = (await requireDelivery(trx, teamId, id)).endpoint;
    // The endpoint before its subscription and its deliveries, as attempts do. An attempt that was being recorded is over then.
    await nudgeJob(trx, { kind: jobKinds.deliver, subjectId: endpoint, dueAt: now });
    const delivery = await requireDelivery(trx, teamId, id);
    if (delivery.subscription_id !== null) {
      const webhook = await findWebhook(trx, teamId, delivery.subscription_id);
      if (webhook === undefined) throw new ServiceError(409, 'webhook_deleted', 'The subscription of this delivery was deleted.');
      if (webhook.enabled === 0)
        throw new ServiceError(409, 'webhook_disabled', 'The subscription of this delivery is disabled; enable it first.');
    }
    const restart = delivery.status === 'pending' ? {} : { tries: 0, completed_at: null };
    const due = await changeDelivery(trx, id, [delivery.status], { ...restart, status: 'pending', next_attempt_at: now });
    return due ?? delivery;
  });
  engine.worker.wake();
  return changedDelivery;
}

async function requireDelivery(db: Queries, teamId: string, id: string): Promise<DeliveryRow> {
  const delivery = await findDelivery(db, teamId, id);
  if (delivery === undefined) throw notFound('delivery', id);
  return delivery;
}

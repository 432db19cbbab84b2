/** Delivers an event again. */
import { notFound, ServiceError } from '../../errors.ts';
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
    const delivery = await findDelivery(trx, teamId, id);
    if (delivery === undefined) throw notFound('delivery', id);
    if (delivery.subscription_id !== null) {
      const webhook = await findWebhook(trx, teamId, delivery.subscription_id);
      if (webhook === undefined) throw new ServiceError(409, 'webhook_deleted', 'The subscription of this delivery was deleted.');
      if (webhook.enabled === 0)
        throw new ServiceError(409, 'webhook_disabled', 'The subscription of this delivery is disabled; enable it first.');
    }
    const restart = delivery.status === 'pending' ? {} : { tries: 0, completed_at: null };
    const due = await changeDelivery(trx, id, [delivery.status], { ...restart, status: 'pending', next_attempt_at: now });
    await nudgeJob(trx, { kind: jobKinds.deliver, subjectId: delivery.endpoint, dueAt: now });
    return due ?? delivery;
  });
  engine.worker.wake();
  return changedDelivery;
}

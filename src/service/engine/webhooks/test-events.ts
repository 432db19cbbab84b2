/** Events that somebody sends to test a receiver. They are delivered, signed, retried, and logged like all others. */
import type { WebhookEventKind } from '../../../interface/types.ts';
import { sampleEventData } from '../../../interface/webhook-samples.ts';
import { ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { Queries } from '../../store/database/database.ts';
import type { DeliveryRow, WebhookRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { deliveriesOf } from '../../store/webhooks/deliveries.ts';
import { listWebhookRows } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { isSubscribedTo, recordEventFor } from './events.ts';
import { requireWebhook } from './subscriptions.ts';

interface TestEvent {
  kind: WebhookEventKind;
  /** Sample data by default. */
  data?: object | undefined;
  /** The only webhook to send it to. */
  subscriptionId?: string | undefined;
}

/**
 * Sends a test event, and returns its ID and its deliveries. Throws 404 `webhook_not_found`, 409 `webhook_disabled`, or 409
 * `no_webhook` if no webhook of the team receives this kind.
 */
export async function sendTestEvent(
  engine: HasStore & HasClock & HasWorker,
  teamId: string,
  { kind, data, subscriptionId }: TestEvent,
): Promise<{ eventId: string; deliveries: DeliveryRow[] }> {
  const { clock } = engine;
  const sent = await engine.store.transaction().execute(async (trx) => {
    const subscriptions = await recipients(trx, teamId, kind, subscriptionId);
    const sampleData = () => data ?? sampleEventData(kind, { teamId, now: isoTime(clock.now()), newId });
    const eventId = await recordEventFor(clock, trx, { teamId }, { kind, data: sampleData, test: true }, subscriptions);
    return { eventId, deliveries: await deliveriesOf(trx, eventId) };
  });
  engine.worker.wake();
  return sent;
}

async function recipients(trx: Queries, teamId: string, kind: WebhookEventKind, subscriptionId?: string): Promise<WebhookRow[]> {
  if (subscriptionId !== undefined) {
    const webhook = await requireWebhook(trx, teamId, subscriptionId);
    if (webhook.enabled === 1) return [webhook];
    throw new ServiceError(409, 'webhook_disabled', 'This webhook is disabled; enable it first.');
  }
  const subscriptions = (await listWebhookRows(trx, teamId)).filter((row) => row.enabled === 1 && isSubscribedTo(row, kind));
  if (subscriptions.length > 0) return subscriptions;
  throw new ServiceError(409, 'no_webhook', `No enabled webhook of the team receives ${kind}; create one, or name a webhook.`);
}

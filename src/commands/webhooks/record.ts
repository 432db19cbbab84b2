/** How webhooks and deliveries are displayed, and how an argument identifies a webhook. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { column, idColumn, status, statusColumn, time, timeColumn, wideView } from '../../cli/kit/output.ts';
import type { Webhook, WebhookDelivery } from '../../interface/types.ts';

/** The events, with `*` in words. */
const eventsOf = (webhook: Webhook): string => (webhook.events?.includes('*') ? 'all' : (webhook.events ?? []).join(', '));

export const webhookColumns = [
  idColumn((webhook: Webhook) => webhook.id),
  statusColumn((webhook: Webhook) => webhook.status),
  column('URL', (webhook: Webhook) => webhook.url, { shrink: true, min: 16 }),
  column('EVENTS', eventsOf, { shrink: true }),
];

export const webhookRecord = (webhook: Webhook) => ({
  ID: webhook.id,
  URL: webhook.url,
  Events: eventsOf(webhook),
  Description: webhook.description ?? undefined,
  Format: webhook.format === 'standard' ? undefined : webhook.format,
  Status: status(webhook.status),
  'Disabled because': webhook.disabled_reason ?? undefined,
  Disabled: webhook.disabled_at ? time(webhook.disabled_at) : undefined,
  'Failing since': webhook.failing_since ? time(webhook.failing_since) : undefined,
  'Last delivered': time(webhook.last_delivered_at),
  Created: time(webhook.created_at),
});

export const deliveryColumns = [
  idColumn((delivery: WebhookDelivery) => delivery.id),
  statusColumn((delivery: WebhookDelivery) => delivery.status),
  column('EVENT', (delivery: WebhookDelivery) => delivery.event, { shrink: true }),
  column('PROBLEM', (delivery: WebhookDelivery) => delivery.last_error, { shrink: true, style: 'warning' }),
  timeColumn('CREATED', (delivery: WebhookDelivery) => delivery.created_at),
  column('TRIES', (delivery: WebhookDelivery) => delivery.attempt_count, { align: 'right', minViewWidth: wideView }),
];

export const deliveryRecord = (delivery: WebhookDelivery) => ({
  ID: delivery.id,
  Event: delivery.event,
  'Event ID': delivery.event_id,
  Status: status(delivery.status),
  URL: delivery.url,
  Webhook: delivery.subscription_id ?? '(set by the run)',
  Run: delivery.run_id ?? undefined,
  Problem: delivery.last_error ?? undefined,
  'Next attempt': delivery.next_attempt_at ? time(delivery.next_attempt_at) : undefined,
  Created: time(delivery.created_at),
  Ended: delivery.completed_at ? time(delivery.completed_at) : undefined,
});

/** All webhooks of the team. The interface does not define the name of the list. */
export async function allWebhooks(context: Context): Promise<Webhook[]> {
  const client = await context.client();
  const answer: object = await client.call('listTeamWebhooks', { params: { teamId: context.teamId() } });
  const response = answer as { webhooks?: Webhook[]; subscriptions?: Webhook[]; data?: Webhook[] };
  return response.webhooks ?? response.subscriptions ?? response.data ?? [];
}

/** The webhook of the team with this ID. @throws AopsError `webhook_not_found` (exit 3) */
export async function findWebhook(context: Context, id: string): Promise<Webhook> {
  const match = (await allWebhooks(context)).find((webhook) => webhook.id === id);
  if (match) return match;
  throw new AopsError(`There is no webhook ${id}.`, {
    code: 'webhook_not_found',
    exit: exitCodes.notFound,
    hint: 'List the webhooks with `aops webhooks list`.',
  });
}

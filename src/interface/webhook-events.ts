/** What webhooks are told of, and what becomes of a delivery. Apart from the schemas, so that commands can name them. */

/** Kinds of events (further groups, Webhook event kinds), and one of the local service: that a subscription was disabled. */
export const webhookEventKinds = [
  'run.started',
  'run.paused',
  'run.completed',
  'run.failed',
  'run.message.created',
  'run.tool_call.completed',
  'run.file.created',
  'human_request.created',
  'human_request.responded',
  'queue.case.created',
  'queue.case.claimed',
  'queue.case.completed',
  'assignment.build.published',
  'connection.updated',
  'connection.action_required',
  'webhook.disabled',
] as const;
export type WebhookEventKind = (typeof webhookEventKinds)[number];

/** Stands for all kinds, also those that come later. */
export const allEvents = '*';

/** `cancelled`: its subscription was deleted or disabled before it could be delivered. */
export const deliveryStatuses = ['pending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

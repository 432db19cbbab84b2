/** Kinds of webhook events, and statuses of deliveries. Separate from the schemas, so that commands can use them. */

/** Kinds of events (further groups, Webhook event kinds), and two of the local service: a request waits too long, and a subscription was disabled. */
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
  'human_request.reminder',
  'queue.case.created',
  'queue.case.claimed',
  'queue.case.completed',
  'assignment.build.published',
  'connection.updated',
  'connection.action_required',
  'webhook.disabled',
] as const;
export type WebhookEventKind = (typeof webhookEventKinds)[number];

/** All kinds, including future ones. */
export const allEvents = '*';

/** `cancelled`: its subscription was deleted or disabled before it could be delivered. */
export const deliveryStatuses = ['pending', 'delivered', 'failed', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** What a webhook receives: events as JSON, or messages for people in the form of a chat program. An extension of the local service. */
export const webhookFormats = ['standard', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** What a webhook for a chat program receives unless its events are named: what needs attention. */
export const chatEvents = [
  'human_request.created',
  'run.failed',
  'connection.action_required',
  'webhook.disabled',
] as const satisfies readonly WebhookEventKind[];

import type { Operation } from '../operation.ts';

/** Webhooks of a team and their signing secret (interface part 4.3), and what became of their deliveries. */
export const webhookOperations = {
  listTeamWebhooks: {
    method: 'GET',
    path: '/v2/teams/{teamId}/webhooks',
    idempotent: false,
    success: 200,
    summary: 'List the webhook subscriptions of a team',
  },
  createTeamWebhook: {
    method: 'POST',
    path: '/v2/teams/{teamId}/webhooks',
    idempotent: true,
    success: 201,
    summary: 'Subscribe a URL to events of a team',
  },
  updateTeamWebhook: {
    method: 'PATCH',
    path: '/v2/teams/{teamId}/webhooks/{subscriptionId}',
    idempotent: true,
    success: 200,
    summary: 'Change, disable or enable a webhook subscription',
    extension: true,
  },
  deleteTeamWebhook: {
    method: 'DELETE',
    path: '/v2/teams/{teamId}/webhooks/{subscriptionId}',
    idempotent: true,
    success: 200,
    summary: 'Delete a webhook subscription',
  },
  getTeamWebhookSecret: {
    method: 'GET',
    path: '/v2/teams/{teamId}/webhook-secret',
    idempotent: false,
    success: 200,
    summary: 'Get the signing secret for the webhooks of a team',
  },
  rotateTeamWebhookSecret: {
    method: 'POST',
    path: '/v2/teams/{teamId}/webhook-secret/rotate',
    idempotent: true,
    success: 200,
    summary: 'Rotate the signing secret for the webhooks of a team',
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/v2/teams/{teamId}/webhook-deliveries',
    idempotent: false,
    success: 200,
    summary: 'List the webhook deliveries of a team, newest first',
    extension: true,
  },
  getWebhookDelivery: {
    method: 'GET',
    path: '/v2/teams/{teamId}/webhook-deliveries/{deliveryId}',
    idempotent: false,
    success: 200,
    summary: 'Get a webhook delivery with its payload and its attempts',
    extension: true,
  },
  resendWebhookDelivery: {
    method: 'POST',
    path: '/v2/teams/{teamId}/webhook-deliveries/{deliveryId}/resend',
    idempotent: true,
    success: 200,
    summary: 'Deliver an event again, with the same ID',
    extension: true,
  },
} as const satisfies Record<string, Operation>;

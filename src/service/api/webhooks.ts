/** Webhook subscriptions of the team, their signing secret, and the log of deliveries. */
import { resendDelivery } from '../engine/webhooks/resend.ts';
import { rotateSecret, teamSecrets } from '../engine/webhooks/secrets.ts';
import { createWebhook, deleteWebhook, updateWebhook } from '../engine/webhooks/subscriptions.ts';
import { sendTestEvent } from '../engine/webhooks/test-events.ts';
import { notFound } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { eventById, findDelivery, listAttempts, listDeliveryRows } from '../store/webhooks/deliveries.ts';
import { listWebhookRows } from '../store/webhooks/webhooks.ts';
import { deliveryDetailView, deliveryView, secretView, webhookView } from '../views/webhooks.ts';
import { requireTeam } from './shared/lookups.ts';

/** The fields of a request, in the words of the engine. */
const fieldsOf = <Fields extends { expires_in_seconds?: number | null | undefined }>({ expires_in_seconds, ...fields }: Fields) => ({
  ...fields,
  expiresIn: expires_in_seconds,
});

export const webhookRoutes: GroupRoutes<'webhooks'> = {
  async listTeamWebhooks(context, { params }) {
    requireTeam(context, params.teamId);
    const rows = await listWebhookRows(context.engine.store, params.teamId);
    return { webhooks: rows.map(webhookView), total: rows.length };
  },

  async createTeamWebhook(context, { params, body }) {
    requireTeam(context, params.teamId);
    return { webhook: webhookView(await createWebhook(context.engine, params.teamId, fieldsOf(body))) };
  },

  async updateTeamWebhook(context, { params, body }) {
    requireTeam(context, params.teamId);
    return { webhook: webhookView(await updateWebhook(context.engine, params.teamId, params.subscriptionId, fieldsOf(body))) };
  },

  async deleteTeamWebhook(context, { params }) {
    requireTeam(context, params.teamId);
    await deleteWebhook(context.engine, params.teamId, params.subscriptionId);
    return { success: true };
  },

  async getTeamWebhookSecret(context, { params }) {
    requireTeam(context, params.teamId);
    const { current, previous } = await teamSecrets(context.engine, params.teamId);
    return secretView(current, previous);
  },

  async rotateTeamWebhookSecret(context, { params, body }) {
    requireTeam(context, params.teamId);
    const rotation = { overlapSeconds: body.overlap_seconds, force: body.force };
    const { current, previous } = await rotateSecret(context.engine, params.teamId, rotation);
    return secretView(current, previous);
  },

  async createTestWebhookEvent(context, { params, body }) {
    requireTeam(context, params.teamId);
    const event = { kind: body.type, data: body.data, subscriptionId: body.subscription_id };
    const { eventId, deliveries } = await sendTestEvent(context.engine, params.teamId, event);
    return { event_id: eventId, deliveries: deliveries.map(deliveryView) };
  },

  async listWebhookDeliveries(context, { params, query }) {
    requireTeam(context, params.teamId);
    const { limit = 20, offset = 0, subscription_id: subscriptionId, run_id: runId, event: kind, status } = query;
    const filter = { teamId: params.teamId, subscriptionId, runId, kind, status };
    const { rows, total } = await listDeliveryRows(context.engine.store, filter, { limit, offset });
    return { deliveries: rows.map(deliveryView), total, limit, offset };
  },

  async getWebhookDelivery(context, { params }) {
    requireTeam(context, params.teamId);
    const { store } = context.engine;
    const row = await findDelivery(store, params.teamId, params.deliveryId);
    if (row === undefined) throw notFound('delivery', params.deliveryId);
    const event = await eventById(store, row.event_id);
    return { delivery: deliveryDetailView(row, event.payload, await listAttempts(store, row.id)) };
  },

  async resendWebhookDelivery(context, { params }) {
    requireTeam(context, params.teamId);
    return { delivery: deliveryView(await resendDelivery(context.engine, params.teamId, params.deliveryId)) };
  },
};

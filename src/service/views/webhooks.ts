/** Webhook subscriptions, secrets, and deliveries, as the interface returns them. */
import type { Webhook, WebhookDelivery, WebhookDeliveryDetail, WebhookSecret } from '../../interface/types.ts';
import type { AttemptRow, DeliveryRow, WebhookRow, WebhookSecretRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';

const moment = (milliseconds: number | null): string | null => (milliseconds === null ? null : isoTime(Number(milliseconds)));

export const webhookView = (row: WebhookRow): Webhook => ({
  id: row.id,
  team_id: row.team_id,
  url: row.url,
  events: JSON.parse(row.events) as string[],
  description: row.description,
  format: row.format,
  enabled: row.enabled === 1,
  status: row.enabled === 0 ? 'disabled' : row.failures > 0 ? 'failing' : 'active',
  disabled_reason: row.disabled_reason,
  disabled_at: row.disabled_at,
  failing_since: moment(row.failing_since),
  last_delivered_at: row.last_delivered_at,
  expires_at: moment(row.expires_at),
  created_at: row.created_at,
  updated_at: row.updated_at,
});

export const secretView = (current: WebhookSecretRow, previous: WebhookSecretRow | undefined): WebhookSecret => ({
  secret: current.secret,
  created_at: current.created_at,
  previous_expires_at: moment(previous?.expires_at ?? null),
});

export const deliveryView = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  event_id: row.event_id,
  event: row.kind,
  subscription_id: row.subscription_id,
  run_id: row.run_id,
  url: row.url,
  status: row.status,
  attempt_count: row.attempt_count,
  next_attempt_at: moment(row.next_attempt_at),
  last_status_code: row.last_status_code,
  last_error: row.last_error,
  created_at: row.created_at,
  completed_at: row.completed_at,
});

export const deliveryDetailView = (row: DeliveryRow, payload: string, attempts: readonly AttemptRow[]): WebhookDeliveryDetail => ({
  ...deliveryView(row),
  payload: JSON.parse(payload) as Record<string, unknown>,
  attempts: attempts.map(({ number, started_at, duration_ms, status_code, error, response_body }) => ({
    number,
    started_at,
    duration_ms,
    status_code,
    error,
    response_body,
  })),
});

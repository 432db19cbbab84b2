/** Webhooks: subscriptions, secrets, events, and their deliveries. */
import type { Selectable } from 'kysely';
import type { DeliveryStatus, WebhookEventKind } from '../../../../interface/types.ts';
import type { Fixed, Flag } from './columns.ts';

/** What webhooks of a team are signed with. The current secret has no end; the one before it signs too until it expires. */
export interface WebhookSecretsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  /** `whsec_` and base64: it signs, so it cannot be kept as a hash. */
  secret: Fixed<string>;
  created_at: Fixed<string>;
  /** Milliseconds; null for the current one. */
  expires_at: number | null;
}

export interface WebhookSubscriptionsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  url: string;
  /** JSON array of event kinds, or of `*`. */
  events: string;
  description: string | null;
  enabled: Flag;
  disabled_reason: string | null;
  disabled_at: string | null;
  /** Attempts that have failed since the last success, and when the first of them did (milliseconds). */
  failures: number;
  failing_since: number | null;
  /** Milliseconds until which the receiver asked to be left alone. */
  held_until: number | null;
  last_delivered_at: string | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** The outbox: what somebody is to be told, written in the transaction of the change that it tells of. */
export interface EventsTable {
  /** The `webhook-id` of every delivery. */
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** The body of every delivery, as it is sent. */
  payload: Fixed<string>;
  created_at: Fixed<string>;
}

/** An event on its way to one URL. */
export interface DeliveriesTable {
  id: Fixed<string>;
  /** 1, 2, 3 ... in each team: the order of the list. */
  seq: Fixed<number>;
  team_id: Fixed<string>;
  event_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** Null for the `webhook_url` of a run. */
  subscription_id: Fixed<string | null>;
  /** The subscription, or a URL of runs. What goes to one endpoint is delivered by one worker at a time. */
  endpoint: Fixed<string>;
  url: string;
  status: DeliveryStatus;
  /** Attempts of this round of the schedule; a resend begins a new one. */
  tries: number;
  attempt_count: number;
  /** Milliseconds; null unless pending. */
  next_attempt_at: number | null;
  last_status_code: number | null;
  last_error: string | null;
  created_at: Fixed<string>;
  completed_at: string | null;
}

export interface DeliveryAttemptsTable {
  delivery_id: Fixed<string>;
  number: Fixed<number>;
  started_at: Fixed<string>;
  duration_ms: Fixed<number>;
  status_code: Fixed<number | null>;
  error: Fixed<string | null>;
  response_body: Fixed<string | null>;
}

export interface WebhooksTables {
  webhook_secrets: WebhookSecretsTable;
  webhook_subscriptions: WebhookSubscriptionsTable;
  events: EventsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
}

export type WebhookSecretRow = Selectable<WebhookSecretsTable>;
export type WebhookRow = Selectable<WebhookSubscriptionsTable>;
export type EventRow = Selectable<EventsTable>;
export type DeliveryRow = Selectable<DeliveriesTable>;
export type AttemptRow = Selectable<DeliveryAttemptsTable>;

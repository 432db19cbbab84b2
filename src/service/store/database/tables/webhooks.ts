/** Webhooks: subscriptions, secrets, events, and their deliveries. */
import type { Selectable } from 'kysely';
import type { DeliveryStatus, WebhookEventKind, WebhookFormat } from '../../../../interface/types.ts';
import type { Fixed, Flag } from './columns.ts';

/** The secrets that sign the webhooks of a team. The current one does not expire; the previous one also signs until it expires. */
export interface WebhookSecretsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  /** `whsec_` and base64: it is needed for signing, so it cannot be stored as a hash. */
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
  format: WebhookFormat;
  enabled: Flag;
  disabled_reason: string | null;
  disabled_at: string | null;
  /** Failed attempts since the last success, and the time of the first of them (milliseconds). */
  failures: number;
  failing_since: number | null;
  /** Milliseconds; the receiver requested no deliveries until then. */
  held_until: number | null;
  last_delivered_at: string | null;
  /** When a temporary webhook is deleted, in milliseconds; null for one that is not temporary. */
  expires_at: number | null;
  created_at: Fixed<string>;
  updated_at: string;
  deleted_at: string | null;
}

/** The outbox: events for subscribers, written in the transaction of the change that they report. */
export interface EventsTable {
  /** The `webhook-id` of every delivery. */
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** The exact body of every delivery to a webhook with the standard format. */
  payload: Fixed<string>;
  created_at: Fixed<string>;
}

/** The delivery of an event to one URL. */
export interface DeliveriesTable {
  id: Fixed<string>;
  /** 1, 2, 3 ... within the team: the order of the list. */
  seq: Fixed<number>;
  team_id: Fixed<string>;
  event_id: Fixed<string>;
  kind: Fixed<WebhookEventKind>;
  run_id: Fixed<string | null>;
  /** Null for the `webhook_url` of a run. */
  subscription_id: Fixed<string | null>;
  /** The subscription, or a URL of runs. Only one worker at a time delivers to an endpoint. */
  endpoint: Fixed<string>;
  url: string;
  status: DeliveryStatus;
  /** Attempts in this round of the retry schedule; resending begins a new round. */
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

import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { webhookOperations } from '../operations/webhooks.ts';
import { allEvents, deliveryStatuses, webhookEventKinds, webhookFormats } from '../webhook-events.ts';
import { DateTime, FreeForm, Named, Nullable, paging, Uuid, Words } from './common.ts';

const EventKind = Words([...webhookEventKinds], { $id: 'WebhookEventKind' });
const EventKinds = Type.Array(Words([...webhookEventKinds, allEvents]), { minItems: 1 });
const Format = Words([...webhookFormats], { $id: 'WebhookFormat' });
const WebhookUrl = Type.String({ minLength: 1, maxLength: 2_048 });
/** A webhook that expires is deleted this many seconds after it was last changed with this field; null for never. */
const ExpiresIn = Nullable(Type.Integer({ minimum: 60, maximum: 86_400 }));
const Description = Nullable(Type.String({ maxLength: 500 }));

/** A subscription. `status` is `failing` while the last attempts failed, and `disabled_reason` says why nothing more is sent. */
export const Webhook = Named('Webhook', {
  id: Uuid,
  team_id: Uuid,
  url: Type.String(),
  /** `*` means all kinds. */
  events: Type.Array(Type.String()),
  description: Nullable(Type.String()),
  /** An extension: services without it send `standard`. */
  format: Type.Optional(Format),
  enabled: Type.Boolean(),
  status: Words(['active', 'failing', 'disabled']),
  disabled_reason: Nullable(Type.String()),
  disabled_at: Nullable(DateTime),
  /** Time of the first failed attempt since the last success. */
  failing_since: Nullable(DateTime),
  last_delivered_at: Nullable(DateTime),
  /** An extension: when a temporary webhook is deleted, unless it is extended; null for one that is not temporary. */
  expires_at: Type.Optional(Nullable(DateTime)),
  created_at: DateTime,
  updated_at: DateTime,
});
export type Webhook = Static<typeof Webhook>;

/** The signing secret of a team: `whsec_` and base64. During the overlap of a rotation, the previous one signs too. */
export const WebhookSecret = Named('WebhookSecret', {
  secret: Type.String(),
  created_at: DateTime,
  previous_expires_at: Nullable(DateTime),
});
export type WebhookSecret = Static<typeof WebhookSecret>;

const deliveryFields = {
  id: Uuid,
  /** The `webhook-id` of every attempt; the same for all subscriptions that receive the event. */
  event_id: Uuid,
  event: EventKind,
  /** Null for the `webhook_url` of a run. */
  subscription_id: Nullable(Uuid),
  run_id: Nullable(Uuid),
  url: Type.String(),
  status: Words([...deliveryStatuses], { $id: 'WebhookDeliveryStatus' }),
  attempt_count: Type.Integer({ minimum: 0 }),
  next_attempt_at: Nullable(DateTime),
  last_status_code: Nullable(Type.Integer()),
  last_error: Nullable(Type.String()),
  created_at: DateTime,
  completed_at: Nullable(DateTime),
};

/** The delivery of an event to one URL. */
export const WebhookDelivery = Named('WebhookDelivery', deliveryFields);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/** One request. If there is no `status_code`, no response arrived, and `error` says why. */
export const WebhookAttempt = Named('WebhookAttempt', {
  number: Type.Integer({ minimum: 1 }),
  started_at: DateTime,
  duration_ms: Type.Integer({ minimum: 0 }),
  status_code: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  /** The first 2 KB of the response. */
  response_body: Nullable(Type.String()),
});
export type WebhookAttempt = Static<typeof WebhookAttempt>;

export const WebhookDeliveryDetail = Named('WebhookDeliveryDetail', {
  ...deliveryFields,
  /** The event: the body of every attempt, unless the webhook has another format. */
  payload: FreeForm,
  attempts: Type.Array(WebhookAttempt),
});
export type WebhookDeliveryDetail = Static<typeof WebhookDeliveryDetail>;

export const webhookSchemas = {
  listTeamWebhooks: { response: Type.Object({ webhooks: Type.Array(Webhook), total: Type.Integer() }) },
  createTeamWebhook: {
    body: Type.Object({
      url: WebhookUrl,
      events: Type.Optional(EventKinds),
      description: Type.Optional(Description),
      format: Type.Optional(Format),
      enabled: Type.Optional(Type.Boolean()),
      expires_in_seconds: Type.Optional(ExpiresIn),
    }),
    response: Type.Object({ webhook: Webhook }),
  },
  updateTeamWebhook: {
    body: Type.Object({
      url: Type.Optional(WebhookUrl),
      events: Type.Optional(EventKinds),
      description: Type.Optional(Description),
      format: Type.Optional(Format),
      enabled: Type.Optional(Type.Boolean()),
      expires_in_seconds: Type.Optional(ExpiresIn),
    }),
    response: Type.Object({ webhook: Webhook }),
  },
  deleteTeamWebhook: { response: Type.Object({ success: Type.Boolean() }) },
  getTeamWebhookSecret: { response: WebhookSecret },
  rotateTeamWebhookSecret: {
    // The interface defines no body here; services that do not support these fields ignore them.
    body: Type.Object({
      overlap_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 604_800 })),
      force: Type.Optional(Type.Boolean()),
    }),
    optionalBody: true,
    response: WebhookSecret,
  },
  createTestWebhookEvent: {
    body: Type.Object({
      type: EventKind,
      /** The data of the event; sample data by default. */
      data: Type.Optional(FreeForm),
      /** Send it only to this webhook, whichever kinds it has subscribed to. By default, to all that receive this kind. */
      subscription_id: Type.Optional(Uuid),
    }),
    response: Type.Object({ event_id: Uuid, deliveries: Type.Array(WebhookDelivery) }),
  },
  listWebhookDeliveries: {
    query: Type.Object({
      ...paging(100, 20),
      subscription_id: Type.Optional(Uuid),
      run_id: Type.Optional(Uuid),
      event: Type.Optional(EventKind),
      status: Type.Optional(Words([...deliveryStatuses], { $id: 'WebhookDeliveryStatus' })),
    }),
    response: Type.Object({
      deliveries: Type.Array(WebhookDelivery),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  },
  getWebhookDelivery: { response: Type.Object({ delivery: WebhookDeliveryDetail }) },
  resendWebhookDelivery: { response: Type.Object({ delivery: WebhookDelivery }) },
} as const satisfies Record<keyof typeof webhookOperations, OperationSchemas>;

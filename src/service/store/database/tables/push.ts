/** Web Push: the subscriptions of browsers, and the pushes that are still to be sent. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** A browser that is notified. It is removed together with the token of the session that created it. */
export interface PushSubscriptionsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  token_hash: Fixed<string>;
  /** SHA-256 of the endpoint, which is secret: whoever knows it can send requests to it. */
  endpoint_hash: Fixed<string>;
  /** The endpoint and the keys of the browser, encrypted. */
  sealed: Fixed<string>;
  /** The origin of the page that created it. */
  site: Fixed<string>;
  created_at: Fixed<string>;
}

/** A push about a human request. It is removed when it was sent or is no longer needed. */
export interface PushMessagesTable {
  subscription_id: Fixed<string>;
  request_id: Fixed<string>;
  /** The attempts so far. */
  tries: number;
  /** Milliseconds. */
  due_at: number;
}

export interface PushTables {
  push_subscriptions: PushSubscriptionsTable;
  push_messages: PushMessagesTable;
}

export type PushSubscriptionRow = Selectable<PushSubscriptionsTable>;
export type PushMessageRow = Selectable<PushMessagesTable>;

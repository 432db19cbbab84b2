/** Creates, changes, disables, and deletes webhook subscriptions. Each change is one transaction. */

import { omitUndefined } from '../../../base/omit-undefined.ts';
import type { WebhookFormat } from '../../../interface/types.ts';
import { allEvents, chatEvents } from '../../../interface/webhook-events.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { checkOutboundUrl } from '../../outbound/check-url.ts';
import { wordFor } from '../../outbound/host-rules.ts';
import { lockTeam } from '../../store/access/teams.ts';
import type { Queries } from '../../store/database/database.ts';
import type { WebhookRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { cancelDeliveries, makeDeliveriesDue } from '../../store/webhooks/deliveries.ts';
import { findWebhook, insertWebhook, listWebhookRows, updateWebhookRow } from '../../store/webhooks/webhooks.ts';
import { webhookView } from '../../views/webhooks.ts';
import type { HasClock, HasStore, HasWebhooks, HasWorker } from '../engine.ts';
import { recordEvents } from './events.ts';
import { markDeleted, planExpiry } from './expiry.ts';

/** Subscriptions that a team may have. Every event is compared with all of them. */
const maxSubscriptions = 100;

export interface WebhookFields {
  url?: string | undefined;
  events?: readonly string[] | undefined;
  description?: string | null | undefined;
  format?: WebhookFormat | undefined;
  enabled?: boolean | undefined;
  /** How many seconds from now the subscription is deleted; null for never. */
  expiresIn?: number | null | undefined;
}

/** Creates a subscription. Throws 400 for a URL that webhooks cannot be sent to, 409 `too_many_webhooks`. */
export async function createWebhook(
  engine: HasStore & HasClock & HasWebhooks & HasWorker,
  teamId: string,
  fields: WebhookFields & { url: string },
): Promise<WebhookRow> {
  const url = await checkWebhookUrl(engine, fields.url, 'url');
  const now = isoTime(engine.clock.now());
  const expiresAt = expiryIn(engine, fields.expiresIn);
  const row = await engine.store.transaction().execute(async (trx) => {
    await lockTeam(trx, teamId);
    if ((await listWebhookRows(trx, teamId)).length >= maxSubscriptions) {
      throw new ServiceError(
        409,
        'too_many_webhooks',
        `A team can have at most ${maxSubscriptions} webhook subscriptions; delete one first.`,
      );
    }
    const { enabled = true, format = 'standard' } = fields;
    const id = newId();
    if (expiresAt != null) await planExpiry(trx, id, expiresAt);
    return insertWebhook(trx, {
      id,
      team_id: teamId,
      url,
      events: JSON.stringify(eventList(fields.events ?? (format === 'standard' ? [allEvents] : chatEvents))),
      description: fields.description ?? null,
      format,
      enabled: enabled ? 1 : 0,
      disabled_reason: enabled ? null : byRequest,
      disabled_at: enabled ? null : now,
      failures: 0,
      failing_since: null,
      held_until: null,
      last_delivered_at: null,
      expires_at: expiresAt ?? null,
      created_at: now,
      updated_at: now,
      deleted_at: null,
    });
  });
  if (expiresAt != null) engine.worker.wake();
  return row;
}

/** A time in milliseconds; null for never, undefined for an unchanged one. */
const expiryIn = ({ clock }: HasClock, seconds: number | null | undefined): number | null | undefined =>
  seconds == null ? seconds : clock.now() + seconds * 1_000;

const byRequest = 'by request';

/**
 * Changes a subscription. Disabling cancels its pending deliveries; enabling clears its failures, and so does another URL, to which
 * the pending deliveries are sent at once. Throws 404, and 400 as above.
 */
export async function updateWebhook(
  engine: HasStore & HasClock & HasWebhooks & HasWorker,
  teamId: string,
  id: string,
  fields: WebhookFields,
): Promise<WebhookRow> {
  const url = fields.url === undefined ? undefined : await checkWebhookUrl(engine, fields.url, 'url');
  const now = isoTime(engine.clock.now());
  const expiresAt = expiryIn(engine, fields.expiresIn);
  const changed = await engine.store.transaction().execute(async (trx) => {
    // The endpoint before its subscription and its deliveries, as attempts do.
    if (url !== undefined) await nudgeJob(trx, { kind: jobKinds.deliver, subjectId: id, dueAt: engine.clock.now() });
    const row = await requireWebhook(trx, teamId, id);
    const moves = url !== undefined && url !== row.url;
    if (moves) await makeDeliveriesDue(trx, id, engine.clock.now());
    if (expiresAt != null) await planExpiry(trx, id, expiresAt);
    const enables = fields.enabled === true && row.enabled === 0;
    const disables = fields.enabled === false && row.enabled === 1;
    if (disables) await cancelDeliveries(trx, id, 'the subscription was disabled', now);
    const changedRow = await updateWebhookRow(trx, id, {
      ...omitUndefined({ url, description: fields.description, format: fields.format, expires_at: expiresAt }),
      ...(fields.events === undefined ? {} : { events: JSON.stringify(eventList(fields.events)) }),
      ...(enables ? { enabled: 1, disabled_reason: null, disabled_at: null } : {}),
      ...(disables ? { enabled: 0, disabled_reason: byRequest, disabled_at: now } : {}),
      ...(enables || moves ? { failures: 0, failing_since: null, held_until: null } : {}),
      updated_at: now,
    });
    return changedRow ?? row;
  });
  if (expiresAt != null || url !== undefined) engine.worker.wake();
  return changed;
}

/** Deletes a subscription and cancels its pending deliveries; the log of its deliveries is retained. Throws 404. */
export async function deleteWebhook(engine: HasStore & HasClock, teamId: string, id: string): Promise<void> {
  const now = isoTime(engine.clock.now());
  await engine.store.transaction().execute(async (trx) => {
    await requireWebhook(trx, teamId, id);
    await markDeleted(trx, id, 'the subscription was deleted', now);
  });
}

/** Disables a subscription whose receiver keeps failing, and records an event for the others of the team. Returns what `recordEvents` returns. */
export async function disableWebhook(engine: HasClock, trx: Queries, row: WebhookRow, reason: string): Promise<boolean> {
  const now = isoTime(engine.clock.now());
  const changedRow = await updateWebhookRow(trx, row.id, { enabled: 0, disabled_reason: reason, disabled_at: now, updated_at: now });
  await cancelDeliveries(trx, row.id, 'the subscription was disabled', now);
  const view = webhookView(changedRow ?? row);
  // Whoever knows the URL of a chat program can write to its channel, so other receivers learn only its host.
  const data = () => ({ webhook: row.format === 'standard' ? view : { ...view, url: `${new URL(view.url).origin}/…` } });
  return recordEvents(engine.clock, trx, { teamId: row.team_id }, [{ kind: 'webhook.disabled', data }]);
}

/** The subscription. Throws 404 `webhook_not_found`. */
export async function requireWebhook(db: Queries, teamId: string, id: string): Promise<WebhookRow> {
  const row = await findWebhook(db, teamId, id);
  if (row === undefined) throw notFound('webhook', id);
  return row;
}

/** The URL in the form in which it is requested. Throws 400 `invalid_request` or `webhook_host_not_allowed`; see checkOutboundUrl. */
export const checkWebhookUrl = (engine: HasWebhooks, text: string, field: string): Promise<string> =>
  checkOutboundUrl(engine.webhooks.sender, text, {
    field,
    code: 'webhook_host_not_allowed',
    refusalMessage: (host) =>
      `names ${host}, where this service may not send webhooks; to allow that, start it with --allow-webhook-host ${wordFor(host)}`,
  });

const eventList = (events: readonly string[]): string[] => (events.includes(allEvents) ? [allEvents] : [...new Set(events)]);

/**
 * The outbox of webhooks: an event is recorded in the transaction of the change that it reports, with a delivery for each
 * recipient. So no event reports a change that was rolled back, and no event is lost. Events without a recipient are not stored.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import type { WebhookEventKind } from '../../../interface/types.ts';
import { allEvents } from '../../../interface/webhook-events.ts';
import { newId } from '../../ids.ts';
import { atEnd, type EndWrite, endOrder, waitsForEnd } from '../../store/database/at-end.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RunRow, WebhookRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { insertEvents, type RecordedEvent } from '../../store/webhooks/deliveries.ts';
import { recipientRows } from '../../store/webhooks/webhooks.ts';

/** An event before it has an ID. */
export interface NewEvent {
  kind: WebhookEventKind;
  /** The data of its payload; only called if the event has a recipient. */
  data: () => object | Promise<object>;
  /** Set for an event that somebody sent to test a receiver: nothing happened. */
  test?: true;
}

/** Where events come from: a team, and a run if they are about one. */
export interface EventSource {
  teamId: string;
  run?: Pick<RunRow, 'id' | 'webhook_url'>;
}

interface Recipient {
  subscriptionId: string | null;
  endpoint: string;
  url: string;
  dueAt: number;
}

/** What the events of a transaction add to its end, where other processes wait for them: each event of a team needs the next numbers. */
const atEndOfTransaction: EndWrite<{ events: Map<string, RecordedEvent[]>; endpoints: Map<string, number> }> = {
  order: endOrder.events,
  begin: () => ({ events: new Map(), endpoints: new Map() }),
  async write(trx, { events, endpoints }) {
    // Endpoints before numbers, as in the transaction of an attempt that disables a subscription: it has locked its endpoint.
    await nudgeEndpoints(trx, endpoints);
    for (const teamId of [...events.keys()].sort()) await insertEvents(trx, teamId, events.get(teamId) as RecordedEvent[]);
  },
};

/**
 * Records events in the caller's transaction. If it returns true, there is something to deliver: wake the worker after the commit.
 */
export async function recordEvents(clock: Clock, trx: Queries, source: EventSource, events: readonly NewEvent[]): Promise<boolean> {
  const now = clock.now();
  const subscriptions = (await recipientRows(trx, { teamId: source.teamId })).filter((row) => row.enabled === 1);
  const endpoints = new Map<string, number>();
  const recorded: RecordedEvent[] = [];
  for (const event of events) {
    const recipients = recipientsOf(event.kind, source, subscriptions, now);
    if (recipients.length > 0) recorded.push(await eventFor(source, event, recipients, now));
    // An endpoint is due at the same time for all of these events.
    for (const { endpoint, dueAt } of recipients) endpoints.set(endpoint, dueAt);
  }
  if (recorded.length === 0) return false;
  if (waitsForEnd(trx)) {
    const pending = atEnd(trx, atEndOfTransaction);
    pending.events.set(source.teamId, [...(pending.events.get(source.teamId) ?? []), ...recorded]);
    for (const [endpoint, dueAt] of endpoints) pending.endpoints.set(endpoint, dueAt);
  } else {
    await insertEvents(trx, source.teamId, recorded);
    await nudgeEndpoints(trx, endpoints);
  }
  return true;
}

/**
 * Records an event for exactly these subscriptions, whichever kinds they receive, and returns its ID. Wake the worker after the
 * commit.
 */
export async function recordEventFor(
  clock: Clock,
  trx: Queries,
  source: EventSource,
  event: NewEvent,
  subscriptions: readonly WebhookRow[],
): Promise<string> {
  const now = clock.now();
  const recipients = subscriptions.map((row) => subscriber(row, now));
  const recorded = await eventFor(source, event, recipients, now);
  await nudgeEndpoints(trx, new Map(recipients.map(({ endpoint, dueAt }) => [endpoint, dueAt])));
  await insertEvents(trx, source.teamId, [recorded]);
  return recorded.event.id;
}

/** Makes endpoints due, in the order of their IDs, so that two transactions do not wait for each other. */
async function nudgeEndpoints(trx: Queries, endpoints: ReadonlyMap<string, number>): Promise<void> {
  for (const subjectId of [...endpoints.keys()].sort())
    await nudgeJob(trx, { kind: jobKinds.deliver, subjectId, dueAt: endpoints.get(subjectId) as number });
}

/** The rows of an event. */
async function eventFor(source: EventSource, event: NewEvent, recipients: Recipient[], now: number): Promise<RecordedEvent> {
  const id = newId();
  const created_at = isoTime(now);
  const { kind: type, test } = event;
  const payload = JSON.stringify({ id, type, timestamp: created_at, team_id: source.teamId, test, data: await event.data() });
  const run_id = source.run?.id ?? null;
  const deliveries = recipients.map(({ subscriptionId, endpoint, url, dueAt }) => ({
    id: newId(),
    team_id: source.teamId,
    event_id: id,
    kind: event.kind,
    run_id,
    subscription_id: subscriptionId,
    endpoint,
    url,
    status: 'pending' as const,
    tries: 0,
    attempt_count: 0,
    next_attempt_at: dueAt,
    last_status_code: null,
    last_error: null,
    created_at,
    completed_at: null,
  }));
  return { event: { id, team_id: source.teamId, kind: event.kind, run_id, payload, created_at }, deliveries };
}

function recipientsOf(kind: WebhookEventKind, source: EventSource, subscriptions: readonly WebhookRow[], now: number): Recipient[] {
  const recipients = subscriptions.filter((row) => isSubscribedTo(row, kind)).map((row) => subscriber(row, now));
  const runUrl = source.run?.webhook_url;
  if (typeof runUrl === 'string')
    recipients.push({ subscriptionId: null, endpoint: urlEndpoint(source.teamId, runUrl), url: runUrl, dueAt: now });
  return recipients;
}

const subscriber = (row: WebhookRow, now: number): Recipient => ({
  subscriptionId: row.id,
  endpoint: row.id,
  url: row.url,
  dueAt: Math.max(now, Number(row.held_until ?? 0)),
});

/** The events that a subscription has subscribed to, as they are stored. */
export const subscribedEvents = (row: Pick<WebhookRow, 'events'>): string[] => JSON.parse(row.events) as string[];

export function isSubscribedTo(row: WebhookRow, kind: WebhookEventKind): boolean {
  const events = subscribedEvents(row);
  return events.includes(allEvents) || events.includes(kind);
}

/** Runs with the same webhook URL share one endpoint. Otherwise a dead one would occupy a worker for each of them. */
const urlEndpoint = (teamId: string, url: string): string => `url:${createHash('sha256').update(`${teamId}\n${url}`).digest('hex')}`;

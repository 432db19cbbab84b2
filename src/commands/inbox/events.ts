/** The inbox as a stream of new and resolved requests. `aops inbox --watch -o ndjson` prints exactly these events. */
import type { Clock } from '../../base/clock.ts';
import type { PendingRequest } from '../../cli/following/pending-requests.ts';
import type { Client } from '../../client/client.ts';
import { cellText, type View } from '../../terminal/cell.ts';
import { type Enveloped, EventSequence } from '../../watch/envelope.ts';
import { Pace } from '../../watch/pace.ts';
import type { KnownRequest } from '../../watch/resume/points.ts';

interface Payloads {
  'human_request.pending': { human_request: PendingRequest };
  /** The service has recorded another reminder of a request that is still pending. */
  'human_request.reminder': { human_request: PendingRequest };
  'human_request.resolved': { human_request_id: string; title: string; profile?: string };
}

export type InboxEvent = Enveloped<Payloads, { run_id: string }>;

/** What is known of the requests that were reported as pending, by their IDs. */
export type KnownRequests = ReadonlyMap<string, KnownRequest>;

export interface WatchOptions {
  clock: Clock;
  signal: AbortSignal;
  pace?: Pace;
  /** Knows how much of the rate limit remains. */
  client?: Pick<Client, 'allowance'>;
  /** Where to begin; by default with everything that is pending. */
  start?: { seq: number; pending: KnownRequests };
  /** The resume token after an event about a request. Without it, events have none. */
  tokenAfter?: (requestId: string, pending: KnownRequests, seq: number) => string;
  /** The profile that is read, if there are several. */
  profile?: string | undefined;
}

/** Runs until the signal is aborted. @throws the signal's reason */
export async function* watchInbox(
  load: () => Promise<PendingRequest[]>,
  { clock, signal, pace = new Pace(clock), client, start = { seq: 0, pending: new Map() }, tokenAfter, profile }: WatchOptions,
): AsyncGenerator<InboxEvent, never, undefined> {
  const known = new Map(start.pending);
  const sequence = new EventSequence(clock, start.seq);
  const next = (type: InboxEvent['type'], request: { id: string; run_id: string }, data: object): InboxEvent =>
    sequence.next({ type, data }, { run_id: request.run_id }, tokenAfter && ((seq) => tokenAfter(request.id, known, seq)));
  for (;;) {
    const open = await load();
    const openIds = new Set(open.map(({ id }) => id));
    let hasNews = false;
    for (const [id, { title, runId: run_id }] of [...known]) {
      if (openIds.has(id)) continue;
      known.delete(id);
      hasNews = true;
      yield next('human_request.resolved', { id, run_id }, { human_request_id: id, title, profile });
    }
    for (const human_request of open) {
      const previous = known.get(human_request.id);
      const { id, title, run_id: runId, reminded_at: remindedAt } = human_request;
      if (previous !== undefined && !wasReminded(human_request, previous)) continue;
      known.set(id, { runId, title, remindedAt: remindedAt ?? undefined });
      hasNews = true;
      yield next(previous === undefined ? 'human_request.pending' : 'human_request.reminder', human_request, { human_request });
    }
    await pace.pause(hasNews, signal, client?.allowance);
  }
}

/** Whether the service has reminded of a request since it was read last. Other services might not have reminders. */
const wasReminded = ({ reminded_at }: PendingRequest, { remindedAt }: KnownRequest): boolean =>
  reminded_at != null && reminded_at !== remindedAt;

/** An event as a line: `?` for a new request, `!` for a reminder of one, `✓` for a resolved one. */
export function eventLine(event: InboxEvent, view: View): string {
  const { profile } = event.type === 'human_request.resolved' ? event.data : event.data.human_request;
  const parts =
    event.type === 'human_request.resolved'
      ? ['✓', '', event.data.title, event.run_id]
      : [signs[event.type], event.data.human_request.agent_name, event.data.human_request.title, event.run_id];
  if (profile) parts.splice(1, 0, profile);
  return parts.map((part) => cellText(part, view)).join(view.tty ? '  ' : '\t');
}

const signs = { 'human_request.pending': '?', 'human_request.reminder': '!' } as const;

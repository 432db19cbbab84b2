/** The inbox as a stream of new and resolved requests. `aops inbox --watch -o ndjson` prints exactly these events. */
import type { Clock } from '../../base/clock.ts';
import type { PendingRequest } from '../../cli/following/pending.ts';
import type { Client } from '../../client/client.ts';
import { cellText, type View } from '../../terminal/cell.ts';
import { type Enveloped, EventSequence } from '../../watch/envelope.ts';
import { Pace } from '../../watch/pace.ts';

interface Payloads {
  'human_request.pending': { human_request: PendingRequest };
  /** The service has recorded another reminder of a request that is still pending. */
  'human_request.reminder': { human_request: PendingRequest };
  'human_request.resolved': { human_request_id: string; title: string };
}

export type InboxEvent = Enveloped<Payloads, { run_id: string }>;

interface WatchOptions {
  clock: Clock;
  signal: AbortSignal;
  pace?: Pace;
  /** Knows how much of the rate limit remains. */
  client?: Pick<Client, 'allowance'>;
}

/** Runs until the signal is aborted. @throws the signal's reason */
export async function* watchInbox(
  load: () => Promise<PendingRequest[]>,
  { clock, signal, pace = new Pace(clock), client }: WatchOptions,
): AsyncGenerator<InboxEvent, never, undefined> {
  let previous = new Map<string, PendingRequest>();
  const sequence = new EventSequence(clock);
  for (;;) {
    const open = await load();
    const current = new Map(open.map((request) => [request.id, request]));
    const resolvedRequests = [...previous.values()].filter(({ id }) => !current.has(id));
    const newRequests = open.filter(({ id }) => !previous.has(id));
    const remindedRequests = open.filter((request) => wasReminded(request, previous.get(request.id)));
    for (const { id, title, run_id } of resolvedRequests)
      yield sequence.next({ type: 'human_request.resolved', data: { human_request_id: id, title } }, { run_id });
    for (const human_request of newRequests)
      yield sequence.next({ type: 'human_request.pending', data: { human_request } }, { run_id: human_request.run_id });
    for (const human_request of remindedRequests)
      yield sequence.next({ type: 'human_request.reminder', data: { human_request } }, { run_id: human_request.run_id });
    previous = current;
    await pace.pause(resolvedRequests.length + newRequests.length + remindedRequests.length > 0, signal, client?.allowance);
  }
}

/** Whether the service has reminded of a request since it was read last. Other services might not have reminders. */
const wasReminded = (request: PendingRequest, previous: PendingRequest | undefined): boolean =>
  previous !== undefined && request.reminded_at !== undefined && request.reminded_at !== previous.reminded_at;

/** An event as a line: `?` for a new request, `!` for a reminder of one, `✓` for a resolved one. */
export function eventLine(event: InboxEvent, view: View): string {
  const parts =
    event.type === 'human_request.resolved'
      ? ['✓', '', event.data.title, event.run_id]
      : [signs[event.type], event.data.human_request.agent_name, event.data.human_request.title, event.run_id];
  return parts.map((part) => cellText(part, view)).join(view.tty ? '  ' : '\t');
}

const signs = { 'human_request.pending': '?', 'human_request.reminder': '!' } as const;

/**
 * A run as a stream of events. Polls the run, then its messages from the last offset: in that order, so that a run
 * seen as finished has all of its messages read after it. Fast while things move, slower while nothing does.
 */
import type { Client } from '../client/client.ts';
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';
import type { RunEvent, RunEventBody } from './events.ts';
import { polled, type WatchOptions } from './polled.ts';
import { isFinal } from './run-status.ts';

/** The largest `limit` of listRunMessages. */
const pageSize = 50;
interface State {
  status: string | null;
  request: HumanRequest | null;
  /** When a person last said something to the run. */
  spoken: number;
  /** Where the next message is expected, and the id of the one before it. */
  offset: number;
  last: string | undefined;
  seen: Set<string>;
}

/**
 * Yields what happens until the run has ended. Ends after `run.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchRun(client: Client, runId: string, options: WatchOptions): AsyncGenerator<RunEvent, void, undefined> {
  const { clock, signal } = options;
  const state: State = { status: null, request: null, spoken: Number.NEGATIVE_INFINITY, offset: 0, last: undefined, seen: new Set() };
  let seq = 0;
  for await (const body of polled(client, options, () => poll(client, runId, state, signal))) {
    seq += 1;
    yield { v: 1, seq, type: body.type, run_id: runId, ts: new Date(clock.now()).toISOString(), data: body.data } as RunEvent;
    if (body.type === 'run.finished') return;
  }
}

async function* poll(client: Client, runId: string, state: State, signal: AbortSignal): AsyncGenerator<RunEventBody, void, undefined> {
  const { run, pending_human_request: request } = await client.call('getRun', { params: { run_id: runId } }, { signal });
  for await (const message of newMessages(client, runId, state, signal)) {
    if (message.role === 'user') state.spoken = Date.parse(message.timestamp);
    yield { type: 'message', data: { message } };
  }
  yield* requestResolved(state, request, run);
  if (run.status !== state.status) {
    yield { type: 'run.status', data: { status: run.status, previous: state.status } };
    state.status = run.status;
  }
  if (request && request.id !== state.request?.id) {
    yield { type: 'human_request.pending', data: { human_request: request } };
    state.request = request;
  }
  if (isFinal(run.status)) yield { type: 'run.finished', data: { run } };
}

/** Says what became of the request that was pending, when it is no longer. A run may fail because of its answer, such as a denial. */
function* requestResolved(state: State, request: HumanRequest | null, run: Run): Generator<RunEventBody, void, undefined> {
  const { request: previous } = state;
  if (previous === null || previous.id === request?.id) return;
  state.request = null;
  const ended = run.status === 'interrupted' || run.status === 'failed';
  const resolution = ended && !(state.spoken >= Date.parse(previous.created_at)) ? 'withdrawn' : 'answered';
  yield { type: 'human_request.resolved', data: { human_request_id: previous.id, title: previous.title, resolution } };
}

/**
 * Messages not yielded before, oldest first. Offsets only say where to look; ids say what is new. Each page begins
 * with the last message known: where another one is now, the list was rewritten, and is read again from the start.
 */
async function* newMessages(client: Client, runId: string, state: State, signal: AbortSignal): AsyncGenerator<RunMessage, void, undefined> {
  let rewound = false;
  let overlap = 1;
  for (;;) {
    const offset = Math.max(0, state.offset - overlap);
    const query = { limit: pageSize, offset };
    const { messages, total } = await client.call('listRunMessages', { params: { run_id: runId }, query }, { signal });
    if (overlap > 0 && state.offset > 0 && messages[0]?.id !== state.last && !rewound) {
      rewound = true;
      state.offset = 0;
      continue;
    }
    for (const message of messages) {
      if (state.seen.has(message.id)) continue;
      state.seen.add(message.id);
      yield message;
    }
    const moved = offset + messages.length > state.offset;
    // A page may be shorter than its limit: one message that is large may fill it.
    if (!moved && overlap > 0 && messages.length > 0 && state.offset < total) {
      overlap = 0;
      continue;
    }
    overlap = 1;
    state.offset = messages.length === 0 ? 0 : offset + messages.length;
    state.last = messages.at(-1)?.id;
    if (!moved || state.offset >= total) return;
  }
}

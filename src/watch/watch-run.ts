/**
 * A run as events: from its stream if the service offers one, in the same form and order as by polling. When the run has changed,
 * polling reads the run first and its messages afterwards, so that all messages of a run come before its end.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import { shrinking } from '../client/paging.ts';
import { EventSequence } from './envelope.ts';
import type { RunEvent, RunEventBody } from './events.ts';
import { type Call, pollEvents, type WatchOptions } from './polling.ts';
import { type RunPosition, runStart } from './resume/run-position.ts';
import { encodeToken } from './resume/token.ts';
import { RunState } from './run-state.ts';
import { quietStatuses } from './run-status.ts';
import { RetryingStream } from './streamed.ts';

/** The largest `limit` of listRunMessages. */
const pageSize = 50;
/** Polls of a silent run after which its messages are read nevertheless. */
const maxSilentPolls = 10;
/** While messages arrive, the run itself is read at least this often, in milliseconds. */
const runMilliseconds = 1_500;

export interface RunStart {
  /** The number of the last event before it. */
  seq: number;
  position: RunPosition;
}

/**
 * Yields events until the run has ended. Ends after `run.finished`.
 * @param start where to begin; by default with the first message
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchRun(
  client: Client,
  runId: string,
  options: WatchOptions,
  start: RunStart = { seq: 0, position: runStart },
): AsyncGenerator<RunEvent, void, undefined> {
  const sequence = new EventSequence(options.clock, start.seq);
  for await (const { body, position } of positionedEvents(client, runId, options, start.position)) {
    const token = (seq: number): string => encodeToken({ stream: 'runs', seq, runs: new Map([[runId, position]]) });
    yield sequence.next<RunEvent>(body, { run_id: runId }, token);
    if (body.type === 'run.finished') return;
  }
}

/** An event of a run, and the position after it. */
export interface PositionedEvent {
  body: RunEventBody;
  position: RunPosition;
}

/**
 * The events of a run without their envelopes, for streams that consist of the events of several runs. Ends after `run.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* positionedEvents(
  client: Client,
  runId: string,
  options: WatchOptions,
  start: RunPosition = runStart,
): AsyncGenerator<PositionedEvent, void, undefined> {
  const { clock, signal } = options;
  const state = new RunState(start);
  const stream = new RetryingStream<PositionedBody>({
    clock,
    open: () => client.openEvents('streamRunEvents', { params: { run_id: runId } }, { lastEventId: state.beginStream(), signal }),
    bodies: (event) => withPositions(state, state.event(event)),
  });
  const poller = new RunPoller(runId, state, clock);
  // Without an event to continue after, the stream begins with all messages of the run; polling finds the position faster. The stream
  // would not report either that a request was resolved which it has not reported itself.
  const pollsFirst = start.stream === undefined && (start.offset > 0 || start.request !== null);
  let position = start;
  for await (const body of pollEvents<PositionedBody>(client, options, (call, pace) => poller.poll(call, pace.isQuick), {
    stream,
    pollsFirst,
  })) {
    // While polling waits for the rate limit, the state can already be ahead of the events.
    if ('position' in body) position = body.position;
    yield { body, position };
    if (body.type === 'run.finished') return;
  }
}

export type PositionedBody = RunEventBody & { position: RunPosition };

export function* withPositions(state: RunState, bodies: Iterable<RunEventBody>): Generator<PositionedBody, void, undefined> {
  for (const body of bodies) yield { ...body, position: state.position };
}

/**
 * Polling with few requests: one for each poll unless the run has changed. While requests may follow one another quickly, the poll that
 * reads the run reads its messages as well, so that they do not wait for the next one.
 */
export class RunPoller {
  readonly #runId: string;
  readonly #state: RunState;
  readonly #clock: Clock;
  /** Reads a page of messages. Once a page was too large for the client, it requests smaller ones. */
  readonly #page = shrinking((limit, offset, call: Call, catchesUp: boolean) =>
    call('listRunMessages', { params: { run_id: this.#runId }, query: { limit, offset } }, { catchesUp }),
  );
  #readAt = Number.NEGATIVE_INFINITY;
  /** A run can have new messages although its state is the one in which it was last watched. */
  #isFirstRead = true;
  #silentPolls = 0;
  /** Whether the last poll found new messages; undefined when it did not read messages. */
  #hasNewMessages: boolean | undefined;

  constructor(runId: string, state: RunState, clock: Clock) {
    this.#runId = runId;
    this.#state = state;
    this.#clock = clock;
  }

  async *poll(call: Call, isQuick: boolean): AsyncGenerator<PositionedBody, void, undefined> {
    const state = this.#state;
    const isSilent = quietStatuses.has(state.status);
    if (!state.isNew && !isSilent && this.#isTurnOfMessages(isQuick)) {
      this.#hasNewMessages = yield* this.messages(call);
      return;
    }
    this.#hasNewMessages = undefined;
    const { run, pending_human_request: request } = await call('getRun', { params: { run_id: this.#runId } });
    this.#readAt = steadyTime(this.#clock);
    if (isSilent) this.#silentPolls += 1;
    if (this.#isFirstRead || state.differs(run, request) || this.#silentPolls >= maxSilentPolls || (isQuick && !isSilent)) {
      this.#isFirstRead = false;
      this.#silentPolls = 0;
      yield* this.messages(call);
    }
    yield* withPositions(state, state.run(run, request));
  }

  /** A run in progress is read in turn with its messages; while messages arrive, or requests are quick, messages are read more often. */
  #isTurnOfMessages(isQuick: boolean): boolean {
    const isRecent = steadyTime(this.#clock) - this.#readAt < runMilliseconds;
    if (isQuick) return isRecent;
    return this.#hasNewMessages === undefined || (this.#hasNewMessages && isRecent);
  }

  /**
   * Messages that were not yielded before, oldest first. Offsets only say where to read; IDs say what is new. Each page starts with
   * the last known message: if there is another one in its place, the list was rewritten, and is read again from the start.
   * Returns whether there were new messages.
   */
  async *messages(call: Call): AsyncGenerator<PositionedBody, boolean, undefined> {
    const state = this.#state;
    let wasRewritten = false;
    let overlap = 1;
    let hasNews = false;
    for (let isFirst = true; ; isFirst = false) {
      // A stream may report the next messages while the page is requested.
      const { offset: knownOffset, lastMessageId } = state;
      const offset = Math.max(0, knownOffset - overlap);
      const { messages, total } = await this.#page(pageSize, offset, call, !isFirst);
      if (overlap > 0 && knownOffset > 0 && messages[0]?.id !== lastMessageId && !wasRewritten) {
        wasRewritten = true;
        // A run whose messages are rewritten is likely to have changed itself.
        this.#readAt = Number.NEGATIVE_INFINITY;
        state.offset = 0;
        continue;
      }
      const previousOffset = state.offset;
      for (const [index, message] of messages.entries()) {
        for (const body of withPositions(state, state.message(message, offset + index + 1))) {
          hasNews = true;
          yield body;
        }
      }
      const hasAdvanced = state.offset > previousOffset;
      // A page may be shorter than its limit, because a single large message can fill it.
      if (!hasAdvanced && overlap > 0 && state.offset < total) {
        overlap = 0;
        continue;
      }
      overlap = 1;
      if (!hasAdvanced || state.offset >= total) return hasNews;
    }
  }
}

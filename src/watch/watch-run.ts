/**
 * A run as events: those of its stream where the service offers one, in the same form and order as polling finds them. Polling reads
 * the run first and its messages afterwards when the run has changed, so that all messages of a run that has ended come before its end.
 */
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import { shrinking } from '../client/paging.ts';
import type { RunEvent, RunEventBody } from './events.ts';
import { type Call, polled, type WatchOptions } from './polled.ts';
import { RunState } from './run-state.ts';
import { Streamed } from './streamed.ts';

/** The largest `limit` of listRunMessages. */
const pageSize = 50;
/** Statuses in which a run says nothing before it has another one. */
const silent: ReadonlySet<string> = new Set(['not_started', 'pending', 'waiting']);
/** Looks at a silent run after which its messages are read all the same. */
const silentLooks = 10;
/** While messages arrive, the run itself is read at least this often, in milliseconds. */
const runMilliseconds = 1_500;

/**
 * Yields what happens until the run has ended. Ends after `run.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchRun(client: Client, runId: string, options: WatchOptions): AsyncGenerator<RunEvent, void, undefined> {
  const { clock, signal } = options;
  const state = new RunState();
  const stream = new Streamed<RunEventBody>({
    clock,
    open: (lastEventId) => client.openEvents('streamRunEvents', { params: { run_id: runId } }, { lastEventId, signal }),
    bodies: (event) => state.event(event),
  });
  const looks = new Looks(runId, state, clock);
  let seq = 0;
  for await (const body of polled(client, options, (call, pace) => looks.look(call, pace.isQuick), stream)) {
    seq += 1;
    yield { v: 1, seq, type: body.type, run_id: runId, ts: new Date(clock.now()).toISOString(), data: body.data } as RunEvent;
    if (body.type === 'run.finished') return;
  }
}

/**
 * Polling with few requests: one for each poll unless the run has changed. While requests may follow one another quickly, the poll that
 * reads the run reads its messages as well, so that they do not wait for the next one.
 */
class Looks {
  readonly #runId: string;
  readonly #state: RunState;
  readonly #clock: Clock;
  /** Reads a page of messages. Once a page was larger than the client can read, it asks for smaller ones. */
  readonly #page = shrinking((limit, offset, call: Call, catchesUp: boolean) =>
    call('listRunMessages', { params: { run_id: this.#runId }, query: { limit, offset } }, { catchesUp }),
  );
  #readAt = Number.NEGATIVE_INFINITY;
  #silentLooks = 0;
  /** Whether the last look read messages that were not there before; undefined when it did not read messages. */
  #found: boolean | undefined;

  constructor(runId: string, state: RunState, clock: Clock) {
    this.#runId = runId;
    this.#state = state;
    this.#clock = clock;
  }

  async *look(call: Call, isQuick: boolean): AsyncGenerator<RunEventBody, void, undefined> {
    const state = this.#state;
    const isSilent = silent.has(state.status ?? '');
    if (!state.isNew && !isSilent && this.#isTurnOfMessages(isQuick)) {
      this.#found = yield* this.#messages(call);
      return;
    }
    this.#found = undefined;
    const { run, pending_human_request: request } = await call('getRun', { params: { run_id: this.#runId } });
    this.#readAt = steadyTime(this.#clock);
    this.#silentLooks = isSilent ? this.#silentLooks + 1 : 0;
    if (state.differs(run, request) || this.#silentLooks >= silentLooks || (isQuick && !isSilent)) {
      this.#silentLooks = 0;
      yield* this.#messages(call);
    }
    yield* state.run(run, request);
  }

  /** A run in progress is read in turn with its messages; while messages arrive, or requests are quick, messages are read more often. */
  #isTurnOfMessages(isQuick: boolean): boolean {
    const isRecent = steadyTime(this.#clock) - this.#readAt < runMilliseconds;
    if (isQuick) return isRecent;
    return this.#found === undefined || (this.#found && isRecent);
  }

  /**
   * Messages not yielded before, oldest first. Offsets only say where to look; ids say what is new. Each page begins with the last
   * message known: where another one is now, the list was rewritten, and is read again from the start.
   * Returns whether there were any, and the list was not rewritten.
   */
  async *#messages(call: Call): AsyncGenerator<RunEventBody, boolean, undefined> {
    const state = this.#state;
    let rewound = false;
    let overlap = 1;
    let found = false;
    for (let isFirst = true; ; isFirst = false) {
      const offset = Math.max(0, state.offset - overlap);
      const { messages, total } = await this.#page(pageSize, offset, call, !isFirst);
      if (overlap > 0 && state.offset > 0 && messages[0]?.id !== state.last && !rewound) {
        rewound = true;
        // A run whose messages are rewritten is likely to have changed itself.
        this.#readAt = Number.NEGATIVE_INFINITY;
        state.offset = 0;
        continue;
      }
      for (const message of messages) {
        for (const body of state.message(message)) {
          found = true;
          yield body;
        }
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
      if (!moved || state.offset >= total) return found && !rewound;
    }
  }
}

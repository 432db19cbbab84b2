/**
 * The events of many runs through a limited number of event streams, each of which reports those of up to 50 runs. Runs beyond the limit
 * are left to polling, until enough of the others have ended.
 */
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { StreamEvent } from '../../client/event-stream.ts';
import { RetryingStream } from '../streamed.ts';
import { type PositionedBody, withPositions } from '../watch-run.ts';
import type { WatchedRun } from './watched-run.ts';

/** How many streams are open at the same time, and the runs of one stream. */
export interface StreamLimits {
  streams: number;
  runsPerStream: number;
}

/**
 * More runs would not fit into the head of a request. A client has connections for 64 streams, and the local service allows as many for
 * each credential; some of them are for other streams, such as that of the team.
 */
const defaultLimits: StreamLimits = { streams: 60, runsPerStream: 50 };
/** A run whose last event has a longer ID, in characters, is read from its beginning when its stream is opened again. */
const maxEventIdLength = 160;

export interface RunStreamsOptions {
  clock: Clock;
  signal: AbortSignal;
  teamId: string;
  limits?: StreamLimits | undefined;
  /** Receives each event, in the order of its run. */
  onEvent: (run: WatchedRun, body: PositionedBody) => Promise<void>;
  /** Called when runs are not reported by their stream any more. */
  onEnd: () => void;
}

/** One stream; it is closed and replaced when runs are added. */
interface Bundle {
  runs: WatchedRun[];
  controller: AbortController;
}

export class RunStreams {
  readonly #client: Pick<Client, 'openEvents'>;
  readonly #options: RunStreamsOptions;
  readonly #bundles = new Set<Bundle>();
  readonly #limits: StreamLimits;
  /** The runs of all bundles, and those that `open` adds to one. */
  readonly #runs = new Set<WatchedRun>();
  /** Runs that the service does not know as runs of this team. */
  readonly #missingRuns = new WeakSet<WatchedRun>();
  #newRuns: WatchedRun[] = [];
  #isOffered = true;
  /** Whether runs were left to polling, and no whole stream has become free since. */
  #isFull = false;

  constructor(client: Pick<Client, 'openEvents'>, options: RunStreamsOptions) {
    this.#client = client;
    this.#options = options;
    this.#limits = options.limits ?? defaultLimits;
  }

  /** Whether the service offers these streams, as far as is known. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /**
   * Adds a run to a stream that `open` opens. From now on, nothing else may report its events. Returns false if there are no streams, if
   * all of them are full, or if the run's stream is closed at the moment.
   */
  take(run: WatchedRun): boolean {
    if (!this.#isOffered || this.#runs.has(run) || this.#missingRuns.has(run) || !this.#hasSpace()) return false;
    this.#runs.add(run);
    run.isStreamed = true;
    this.#newRuns.push(run);
    return true;
  }

  /** Once all streams are full, runs are added only when there is space for a whole stream, so that streams are not replaced all the time. */
  #hasSpace(): boolean {
    const { streams, runsPerStream } = this.#limits;
    const most = streams * runsPerStream;
    if (!this.#isFull && this.#runs.size < most) return true;
    const space = most - [...this.#runs].filter(({ isOver }) => !isOver).length;
    this.#isFull = space <= 0 || (this.#isFull && space < runsPerStream);
    return !this.#isFull;
  }

  /** Opens streams for the runs that were added. Streams that have capacity left are replaced by ones that include them. */
  open(): void {
    const newRuns = this.#newRuns.splice(0);
    if (newRuns.length === 0) return;
    const { streams, runsPerStream } = this.#limits;
    const runs = [...newRuns];
    let streamCount = this.#bundles.size;
    const bundles = [...this.#bundles].map((bundle) => ({ bundle, active: bundle.runs.filter(({ isOver }) => !isOver) }));
    bundles.sort((a, b) => a.active.length - b.active.length);
    for (const [index, { bundle, active }] of bundles.entries()) {
      const isEnough = streamCount + Math.ceil(runs.length / runsPerStream) <= streams;
      if (isEnough && (index > 0 || active.length >= runsPerStream)) break;
      runs.push(...active);
      streamCount -= 1;
      this.#bundles.delete(bundle);
      bundle.controller.abort(new Error('The stream is replaced.'));
      this.#release(bundle.runs.filter(({ isOver }) => isOver));
    }
    for (let start = 0; start < runs.length; start += runsPerStream) void this.#follow(runs.slice(start, start + runsPerStream));
  }

  /** Leaves runs to polling: those that have ended can continue. */
  #release(runs: readonly WatchedRun[]): void {
    for (const run of runs) {
      this.#runs.delete(run);
      run.isStreamed = false;
    }
  }

  async #follow(runs: WatchedRun[]): Promise<void> {
    const bundle: Bundle = { runs, controller: new AbortController() };
    this.#bundles.add(bundle);
    const { clock } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, bundle.controller.signal]);
    const stream = new RetryingStream<{ run: WatchedRun; body: PositionedBody }>({
      clock,
      open: () => this.#open(bundle, signal),
      bodies: (event) => this.#bodies(bundle, event),
    });
    try {
      while (bundle.runs.some(({ isOver }) => !isOver)) {
        if (stream.wait > 0) {
          this.#setStreamed(bundle, false);
          if (stream.wait === Number.POSITIVE_INFINITY) {
            this.#isOffered = false;
            return;
          }
          await clock.sleep(stream.wait, signal);
        }
        // Opened even if polling has reported the runs in the meantime: what is known already is not reported again.
        for await (const { run, body } of stream.read(signal)) await this.#options.onEvent(run, body);
      }
    } catch {
      // Only the signal ends it: the stream is replaced, or nothing is watched any more.
    } finally {
      // A bundle that was replaced has been removed before, and its runs belong to another one.
      if (this.#bundles.delete(bundle)) this.#release(bundle.runs);
    }
  }

  #open(bundle: Bundle, signal: AbortSignal) {
    this.#release(bundle.runs.filter(({ isOver }) => isOver));
    bundle.runs = bundle.runs.filter(({ isOver }) => !isOver);
    // From the request on: its response may be older than what polling would report before it arrives.
    this.#setStreamed(bundle, true);
    const lastIds = bundle.runs.flatMap(({ id, state }) => {
      const eventId = state.beginStream(maxEventIdLength);
      return eventId === undefined ? [] : [`${id}:${eventId}`];
    });
    const input = { params: { teamId: this.#options.teamId }, query: { run_ids: bundle.runs.map(({ id }) => id).join(',') } };
    return this.#client.openEvents('streamRunsEvents', input, {
      lastEventId: lastIds.length === 0 ? undefined : lastIds.join(','),
      signal,
    });
  }

  /** The events that follow from an event of the stream. @throws SyntaxError for anything that is not an event of these runs */
  *#bodies(bundle: Bundle, event: StreamEvent): Generator<{ run: WatchedRun; body: PositionedBody }, void, undefined> {
    const { run_id } = JSON.parse(event.data) as { run_id?: unknown };
    const run = bundle.runs.find(({ id }) => id === run_id);
    if (run === undefined) throw new SyntaxError('The event is not about one of the runs.');
    if (event.type === 'run.missing') {
      // Polling finds out why.
      this.#missingRuns.add(run);
      this.#release([run]);
      bundle.runs = bundle.runs.filter((each) => each !== run);
      this.#options.onEnd();
      return;
    }
    // The ID of the event in a stream of this run alone follows the ID of the run.
    const id = event.id.slice(event.id.indexOf(':') + 1);
    for (const body of withPositions(run.state, run.state.event({ ...event, id }))) {
      if (body.type === 'run.finished') run.run = body.data.run;
      // A run that has ended continues when it gets a message.
      run.isOver = body.type === 'run.finished';
      yield { run, body };
    }
  }

  #setStreamed({ runs }: Bundle, isStreamed: boolean): void {
    for (const run of runs) run.isStreamed = isStreamed;
    if (!isStreamed) this.#options.onEnd();
  }
}

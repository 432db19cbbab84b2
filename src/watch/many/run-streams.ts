/** The events of many runs through few event streams, each of which reports those of up to 50 runs. */
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { StreamEvent } from '../../client/event-stream.ts';
import { RetryingStream } from '../streamed.ts';
import { type PositionedBody, withPositions } from '../watch-run.ts';
import type { WatchedRun } from './watched-run.ts';

/** The runs of one stream: more would not fit into the head of a request. */
const runsPerStream = 50;
/** A run whose last event has a longer ID, in characters, is read from its beginning when its stream is opened again. */
const longestEventId = 160;

export interface RunStreamsOptions {
  clock: Clock;
  signal: AbortSignal;
  teamId: string;
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
  readonly #takenRuns = new WeakSet<WatchedRun>();
  #newRuns: WatchedRun[] = [];
  #isOffered = true;

  constructor(client: Pick<Client, 'openEvents'>, options: RunStreamsOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Whether the service offers these streams, as far as is known. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /**
   * Adds a run to a stream that `open` opens. From now on, nothing else may report its events. Returns false if there are no streams, or
   * if the run's stream is closed at the moment.
   */
  take(run: WatchedRun): boolean {
    if (!this.#isOffered || this.#takenRuns.has(run)) return false;
    this.#takenRuns.add(run);
    run.isStreamed = true;
    this.#newRuns.push(run);
    return true;
  }

  /** Opens streams for the runs that were added. A stream that has capacity left is replaced by one that includes them. */
  open(): void {
    const newRuns = this.#newRuns.splice(0);
    if (newRuns.length === 0) return;
    const partial = [...this.#bundles].find(({ runs }) => runs.filter(({ isOver }) => !isOver).length < runsPerStream);
    const moved = partial === undefined ? [] : partial.runs.filter(({ isOver }) => !isOver);
    if (partial !== undefined) {
      this.#bundles.delete(partial);
      partial.controller.abort(new Error('The stream is replaced.'));
    }
    const runs = [...moved, ...newRuns];
    for (let start = 0; start < runs.length; start += runsPerStream) void this.#follow(runs.slice(start, start + runsPerStream));
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
        for await (const { run, body } of stream.read(signal, () => this.#setStreamed(bundle, true)))
          await this.#options.onEvent(run, body);
      }
    } catch {
      // Only the signal ends it: the stream is replaced, or nothing is watched any more.
    } finally {
      this.#bundles.delete(bundle);
    }
  }

  #open(bundle: Bundle, signal: AbortSignal) {
    bundle.runs = bundle.runs.filter(({ isOver }) => !isOver);
    const lastIds = bundle.runs.flatMap(({ id, state }) => {
      const { stream } = state.position;
      return stream === undefined || stream.eventId.length > longestEventId ? [] : [`${id}:${stream.eventId}`];
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
      run.isStreamed = false;
      bundle.runs = bundle.runs.filter((each) => each !== run);
      this.#options.onEnd();
      return;
    }
    // The ID of the event in a stream of this run alone follows the ID of the run.
    const id = event.id.slice(event.id.indexOf(':') + 1);
    for (const body of withPositions(run.state, run.state.event({ ...event, id }))) {
      if (body.type === 'run.finished') {
        run.run = body.data.run;
        run.isOver = true;
      }
      yield { run, body };
    }
  }

  #setStreamed({ runs }: Bundle, isStreamed: boolean): void {
    for (const run of runs) run.isStreamed = isStreamed;
    if (!isStreamed) this.#options.onEnd();
  }
}

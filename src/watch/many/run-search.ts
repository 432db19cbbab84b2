/** Finds the runs that match a filter: the newest often, and all of them now and then, because a run that had ended can continue. */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { RunListItem } from '../../interface/types.ts';
import type { Call } from '../polling.ts';
import { isFinal } from '../run-status.ts';
import type { ForgottenRuns } from './forgotten-runs.ts';
import type { RunFilter, RunLister } from './run-lister.ts';
import type { WatchedRun } from './watched-run.ts';

/** After this number of readings of the newest runs, all matching runs are read. */
const completeEvery = 10;
/** Where readings follow from reports of changes, which can be about an older run, they are read after these milliseconds. */
const completeGap = 5_000;

interface Options {
  clock: Clock;
  lister: RunLister;
  filter: RunFilter;
  /** The known runs. */
  runs: ReadonlyMap<string, WatchedRun>;
  forgotten: ForgottenRuns;
}

export class RunSearch {
  readonly #options: Options;
  /** The newest run of the team when the search began; runs that are created later are new. */
  #newest: { id: string; createdAt: string } | undefined;
  /** When all matching runs were last read, in steady time. */
  #completeAt = Number.NEGATIVE_INFINITY;
  #isIncomplete = false;
  #completeRequests = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether only the newest runs were read, although a change was reported that may be about an older one. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** The number of requests since the last call that most readings do without. */
  takeCompleteRequests(): number {
    const requests = this.#completeRequests;
    this.#completeRequests = 0;
    return requests;
  }

  /**
   * One reading of the list; usually only of the newest runs, which include the new ones.
   * @param reading its number, from 0
   * @param hasHints whether the service reports when runs of the team change
   */
  async *read(call: Call, reading: number, hasHints: boolean): AsyncGenerator<RunListItem, void, undefined> {
    const { clock, lister, filter } = this.#options;
    const unstreamed = [...this.#options.runs.values()].filter(({ isStreamed }) => !isStreamed);
    const polled = unstreamed.filter(({ isOver }) => !isOver);
    if (this.#newest === undefined) this.#newest = await lister.newest(call);
    else if (polled.length === 0 || filter.status === undefined) {
      const isDue = hasHints && steadyTime(clock) - this.#completeAt >= completeGap;
      this.#isIncomplete = !isDue && reading % completeEvery !== 0;
      // Those that have ended can have continued, and even have ended again.
      const sought = this.#isIncomplete ? polled : [...this.#options.forgotten.values(), ...unstreamed];
      yield* this.#recent(call, this.#newest, sought);
      if (this.#isIncomplete) return;
    }
    this.#completeAt = steadyTime(clock);
    const counted: Call = (id, input, options) => {
      if (filter.status === undefined) this.#completeRequests += 1;
      return call(id, input, options);
    };
    yield* lister.matching(counted);
  }

  async *#recent(
    call: Call,
    newest: { id: string; createdAt: string },
    sought: readonly Pick<WatchedRun, 'createdAt'>[],
  ): AsyncGenerator<RunListItem, void, undefined> {
    const { lister, runs, forgotten } = this.#options;
    for await (const item of lister.recent(call, sought)) {
      // A run can end before it is seen, so that it never matches as an active one.
      const isNew = item.id !== newest.id && item.created_at !== null && item.created_at >= newest.createdAt;
      if (isNew || runs.has(item.id) || forgotten.has(item.id) || !isFinal(item.status)) yield item;
    }
  }
}

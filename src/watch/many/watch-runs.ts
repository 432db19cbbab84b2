/**
 * Watches many runs together. Their state is read through the list of runs, and with a limited number of requests in any minute, however
 * many runs there are. The events of each run are the same as if it was watched alone.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { RunListItem } from '../../interface/types.ts';
import type { WaitingBody } from '../events.ts';
import { isNearlyUsedUp, stretchFactor } from '../pace.ts';
import { type Call, pollEvents, type WatchOptions } from '../polling.ts';
import type { RunPosition } from '../resume/run-position.ts';
import { isFinal } from '../run-status.ts';
import { StreamChanges } from '../stream-changes.ts';
import { Channel, merged } from './channel.ts';
import { ForgottenRuns, isLater } from './forgotten-runs.ts';
import { RequestBudget } from './request-budget.ts';
import { type Lost, type Reading, type RunFilter, RunLister, readingOf } from './run-lister.ts';
import { RunSchedule } from './run-schedule.ts';
import { RunSearch } from './run-search.ts';
import { RunStreams, type StreamLimits } from './run-streams.ts';
import { maxSingleReads, type RunUpdate, RunUpdates, readingBudget } from './run-updates.ts';
import { RunsPace } from './runs-pace.ts';
import { WatchedRun } from './watched-run.ts';

export type RunSelection =
  | { kind: 'named'; runs: readonly { id: string; listItem?: RunListItem | undefined }[] }
  /** @param addsNew whether runs that match later are watched too, so that watching never ends by itself */
  | { kind: 'filter'; filter: RunFilter; addsNew: boolean };

/** Whether runs are watched that are started later, so that watching never ends by itself. */
export const addsNewRuns = (selection: RunSelection): boolean => selection.kind === 'filter' && selection.addsNew;

export interface ManyRunsOptions extends Omit<WatchOptions, 'pace'> {
  teamId: string;
  /** Whether the messages of the runs are wanted. */
  messages: boolean;
  /** What was reported of some runs earlier, and is not reported again. */
  starts?: ReadonlyMap<string, RunPosition>;
  /** Whether only `positions` contains runs that have ended a while ago. */
  forgets?: boolean;
  streamLimits?: StreamLimits;
}

/** Something about no run in particular: a wait, or, with `starts`, that runs have been read for the first time. */
type GeneralUpdate = { run?: undefined; body: WaitingBody | { type: 'runs.read' } };

/** Runs whose messages are read at the same time, so that the limit is used even if each response takes a while. */
const maxParallel = 4;
/** How long runs are kept after their end was reported, in milliseconds, if they are to be forgotten. */
const keptFor = 60_000;

export class RunsWatch {
  /** All runs that were found so far and not forgotten, in the order in which they were found. */
  readonly runs = new Map<string, WatchedRun>();
  /** The others. */
  readonly forgotten = new ForgottenRuns();
  /** What was reported earlier of runs that were not found yet. */
  readonly #starts: Map<string, RunPosition>;
  readonly #client: Client;
  readonly #selection: RunSelection;
  readonly #options: ManyRunsOptions;
  readonly #lister: RunLister;
  /** Undefined for named runs. */
  readonly #search: RunSearch | undefined;
  readonly #clock: Clock;
  readonly #schedule: RunSchedule;
  readonly #pace: RunsPace;
  readonly #updates: RunUpdates;
  /** Undefined until watching begins, and if no messages are wanted: then it is enough to read the list when something has changed. */
  #streams: RunStreams | undefined;
  /** Whether the service reports when runs of the team change. */
  #hasHints = false;
  #polls = 0;
  /** When the list was last requested, in steady time, and how often that was. */
  #listedAt = Number.NEGATIVE_INFINITY;
  #listCount = 0;
  /** The number of requests of the list when messages were last read between two pages. */
  #messagesAt = 0;

  constructor(client: Client, selection: RunSelection, options: ManyRunsOptions) {
    this.#client = client;
    this.#selection = selection;
    this.#options = options;
    this.#clock = options.clock;
    const filter = selection.kind === 'filter' ? selection.filter : {};
    this.#lister = new RunLister(this.#clock, options.teamId, filter);
    if (selection.kind === 'filter')
      this.#search = new RunSearch({ clock: this.#clock, lister: this.#lister, filter, runs: this.runs, forgotten: this.forgotten });
    const stretch = (): number => stretchFactor(client.allowance);
    this.#schedule = new RunSchedule(options.clock, { runs: this.runs, stretch, messages: options.messages });
    this.#pace = new RunsPace(options.clock, this.#schedule, new RequestBudget(options.clock, stretch));
    this.#updates = new RunUpdates({
      clock: options.clock,
      schedule: this.#schedule,
      messages: options.messages,
      takesOver: (run) => this.#streams?.take(run) === true,
    });
    this.#starts = new Map(options.starts);
    if (selection.kind === 'named') for (const { id, listItem } of selection.runs) this.#add(id, listItem);
    // Those that have ended since do not match any more, but their ends have not been reported.
    else for (const [id, { isFinished }] of this.#starts) if (!isFinished) this.#add(id);
  }

  /** Whether nothing can happen any more: all runs have ended, and no others are added. */
  get isOver(): boolean {
    const isComplete = this.#search === undefined || (this.#polls > 0 && !this.#addsNew);
    return isComplete && [...this.runs.values()].every(({ isReportedOver }) => isReportedOver);
  }

  /** The number of `positions`. */
  get count(): number {
    return this.#starts.size + this.forgotten.size + this.runs.size;
  }

  /** How far the events of each run were taken. */
  positions(): Map<string, RunPosition> {
    const positions = new Map([...this.#starts, ...this.forgotten.positions()]);
    for (const [id, { position }] of this.runs) positions.set(id, position);
    return positions;
  }

  /** Looks for changes now, because something was just done here. */
  hurry(): void {
    this.#schedule.hurry(false);
    this.#pace.hurry();
  }

  /** The same because something else reports changes, which it may do all the time. */
  #hint(): void {
    this.#schedule.hurry(true);
    this.#pace.hurry();
  }

  /**
   * What happens until all runs have ended.
   * @throws whatever the client throws about more than one run, and the signal's reason
   */
  async *updates(): AsyncGenerator<RunUpdate | GeneralUpdate, void, undefined> {
    const end = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, end.signal]);
    const channel = new Channel<RunUpdate | GeneralUpdate>();
    this.#followHints(signal);
    if (this.#options.messages)
      this.#streams = new RunStreams(this.#client, {
        clock: this.#clock,
        signal,
        teamId: this.#options.teamId,
        limits: this.#options.streamLimits,
        onEvent: (run, body) => channel.put({ run, body }),
        onEnd: () => {
          this.#rest();
          this.#hint();
        },
      });
    void this.#poll(channel, signal).then(
      () => channel.end(),
      (error: unknown) => channel.fail(error),
    );
    try {
      if (this.isOver) return;
      for await (const update of channel.items()) {
        const { run, body } = update;
        if (run !== undefined) {
          if ('position' in body) run.position = body.position;
          run.isReportedOver = body.type === 'run.finished' || body.type === 'run.lost';
          if (run.isReportedOver) run.reportedAt = steadyTime(this.#clock);
        }
        yield update;
        if (this.isOver) return;
      }
    } finally {
      end.abort(new Error('The runs are not watched any more.'));
    }
  }

  get #addsNew(): boolean {
    return addsNewRuns(this.#selection);
  }

  #active(): WatchedRun[] {
    return [...this.runs.values()].filter(({ isOver }) => !isOver);
  }

  #add(id: string, listItem?: RunListItem): WatchedRun {
    const start = this.forgotten.take(id) ?? this.#starts.get(id);
    this.#starts.delete(id);
    const run = new WatchedRun(id, this.#clock, listItem, start);
    this.runs.set(id, run);
    return run;
  }

  #forget(): void {
    if (this.#options.forgets !== true) return;
    const before = steadyTime(this.#clock) - keptFor;
    for (const run of this.runs.values()) {
      // A run that was lost has not finished, and is needed for its error.
      if (!run.isReportedOver || run.isStreamed || run.reportedAt > before || !run.position.isFinished) continue;
      this.forgotten.add(run);
      this.runs.delete(run.id);
    }
  }

  /** Hints only say that something has changed, so they end a pause. While they arrive, pauses are long. */
  #followHints(signal: AbortSignal): void {
    const { clock, teamId } = this.#options;
    const changes = new StreamChanges(
      (lastEventId) =>
        this.#client.openEvents('streamTeamEvents', { params: { teamId }, query: { include: 'runs' } }, { lastEventId, signal }),
      { clock, signal },
    );
    changes.hurry({
      rest: (isOpen) => {
        this.#hasHints = isOpen;
        this.#rest();
      },
      hurry: () => this.#hint(),
    });
  }

  #rest(): void {
    const isResting = this.#hasHints && this.#search?.isIncomplete !== true;
    this.#schedule.rest(isResting && (!this.#options.messages || this.#active().every(({ isStreamed }) => isStreamed)));
  }

  async #poll(channel: Channel<RunUpdate | GeneralUpdate>, signal: AbortSignal): Promise<void> {
    const poll = (call: Call) => this.#pollOnce(call, channel);
    type Polled = WaitingBody | { type: 'update'; update: RunUpdate };
    for await (const polled of pollEvents<Polled & { type: string }>(this.#client, { ...this.#options, signal, pace: this.#pace }, poll)) {
      if ('update' in polled) await channel.put(polled.update);
      else await channel.put({ body: polled as WaitingBody });
      if (this.isOver) return;
    }
  }

  async *#pollOnce(
    call: Call,
    channel: Pick<Channel<GeneralUpdate>, 'put' | 'end'>,
  ): AsyncGenerator<{ type: 'update'; update: RunUpdate }, void, undefined> {
    let hasSucceeded = false;
    try {
      const isResumed = this.#polls === 0 && this.#options.starts !== undefined;
      for await (const update of this.#due(call)) yield { type: 'update', update };
      if (isResumed) await channel.put({ body: { type: 'runs.read' } });
      // Runs whose end was reported earlier end without an event.
      if (this.isOver) channel.end();
      hasSucceeded = true;
    } finally {
      this.#pace.record(hasSucceeded);
    }
  }

  /** What is due: one reading of the state of all runs, and of messages until the state is due again. */
  async *#due(call: Call): AsyncGenerator<RunUpdate, void, undefined> {
    if (this.#schedule.isStateDue) {
      this.#schedule.beginState();
      const previousCount = this.#listCount;
      try {
        yield* this.#changes(call);
      } finally {
        this.#schedule.endState(this.#listCount - previousCount - (this.#search?.takeCompleteRequests() ?? 0));
      }
      this.#polls += 1;
      this.#streams?.open();
      this.#rest();
      this.#forget();
    }
    while (!this.#schedule.isStateDue) {
      const runs = this.#schedule.dueRuns(maxParallel);
      if (runs.length === 0) return;
      yield* merged(runs.map((run) => this.#updates.messages(call, run)));
      // Then polling stops until the window ends.
      const { allowance } = this.#client;
      if (allowance !== undefined && isNearlyUsedUp(allowance)) return;
    }
  }

  /** One reading of the list, and of the runs that are not in it. Messages that are due are read between its pages. */
  async *#changes(call: Call): AsyncGenerator<RunUpdate, void, undefined> {
    const budget = readingBudget();
    const counted: Call = (id, input, options) => {
      if (id === 'listRuns') {
        this.#listCount += 1;
        this.#listedAt = steadyTime(this.#clock);
      } else budget.reads -= 1;
      return call(id, input, options);
    };
    const seenRuns = new Set<WatchedRun>();
    for await (const item of this.#discovered(counted)) {
      if (this.forgotten.isUnchanged(item)) continue;
      const run = this.runs.get(item.id) ?? this.#add(item.id, item);
      run.listItem = item;
      seenRuns.add(run);
      if (run.isOver && this.#listedAt >= run.overSince && (!isFinal(item.status) || hasEndedAgain(run, item))) {
        run.isOver = false;
        run.isReportedOver = false;
      }
      this.#schedule.observe(run, item, this.#listedAt);
      yield* this.#updates.observe(counted, run, readingOf(item, this.#listedAt), budget);
      yield* this.#betweenPages(call);
    }
    const unseenRuns = this.#active().filter((run) => !seenRuns.has(run) && !run.isStreamed);
    if (unseenRuns.length === 0) return;
    for await (const result of this.#lister.current(counted, unseenRuns, maxSingleReads)) {
      if (this.#isForeign(result)) this.runs.delete(result.run.id);
      else if ('error' in result) yield* this.#updates.lose(result.run, result.error);
      else {
        const { run, reading } = result;
        if (reading.isListed) {
          run.listItem = reading.run;
          this.#schedule.observe(run, reading.run, this.#listedAt);
        }
        yield* this.#updates.observe(counted, run, reading, budget);
      }
      yield* this.#betweenPages(call);
    }
  }

  /** Whether a run that was watched before was deleted before this watch began, or belongs to another filter, as its first reading shows. */
  #isForeign(result: Lost | { run: WatchedRun; reading: Reading }): boolean {
    if (this.#selection.kind !== 'filter' || result.run.run !== undefined) return false;
    if ('error' in result) return true;
    const { agent_id, case_queue_id } = this.#selection.filter;
    const { run } = result.reading;
    const isOther = (expected: string | undefined, found: string | null | undefined): boolean =>
      expected !== undefined && found !== undefined && found !== expected;
    return isOther(agent_id, run.agent_id) || isOther(case_queue_id, 'case_queue_id' in run ? run.case_queue_id : undefined);
  }

  /** Reads messages that are due, once for each page of the list. */
  async *#betweenPages(call: Call): AsyncGenerator<RunUpdate, void, undefined> {
    // First, all runs are reported.
    if (this.#polls === 0 || this.#listCount === this.#messagesAt) return;
    this.#messagesAt = this.#listCount;
    const runs = this.#schedule.dueRuns(maxParallel);
    if (runs.length > 0) yield* merged(runs.map((run) => this.#updates.messages(call, run)));
  }

  /** The runs in the list that match the filter. */
  async *#discovered(call: Call): AsyncGenerator<RunListItem, void, undefined> {
    if (this.#search === undefined || (this.#polls > 0 && !this.#addsNew)) return;
    yield* this.#search.read(call, this.#polls, this.#hasHints);
  }
}

/** Whether a run that was over has continued and ended since, as far as the list shows that. */
const hasEndedAgain = ({ run }: WatchedRun, item: RunListItem): boolean => isLater(item.completed_at, run?.completed_at);

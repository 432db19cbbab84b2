/**
 * Watches many runs together. Their state is read through the list of runs, and with a limited number of requests in any minute, however
 * many runs there are. The events of each run are the same as if it was watched alone.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { AopsError } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest, Run, RunListItem } from '../../interface/types.ts';
import type { WaitingBody } from '../events.ts';
import { Pace } from '../pace.ts';
import { type Call, pollEvents, type WatchOptions } from '../polling.ts';
import type { RunPosition } from '../resume/run-position.ts';
import { isStillFinished } from '../resume/start-position.ts';
import { isFinal } from '../run-status.ts';
import { StreamChanges } from '../stream-changes.ts';
import { type PositionedBody, withPositions } from '../watch-run.ts';
import { Channel } from './channel.ts';
import { type Reading, type RunFilter, RunLister, readingOf, readOne } from './run-lister.ts';
import { RunStreams, type StreamLimits } from './run-streams.ts';
import { WatchedRun } from './watched-run.ts';

export type RunSelection =
  | { kind: 'named'; runs: readonly { id: string; listItem?: RunListItem | undefined }[] }
  /** @param addsNew whether runs that match later are watched too, so that watching never ends by itself */
  | { kind: 'filter'; filter: RunFilter; addsNew: boolean };

/** Something new: an event of a run, or that it cannot be read any more. */
export type RunUpdate = { run: WatchedRun; body: PositionedBody } | { run: WatchedRun; body: { type: 'run.lost'; error: AopsError } };

export interface ManyRunsOptions extends WatchOptions {
  teamId: string;
  /** Whether the messages of the runs are wanted. */
  messages: boolean;
  /** What was reported of some runs earlier, and is not reported again. */
  starts?: ReadonlyMap<string, RunPosition>;
  streamLimits?: StreamLimits;
}

const minute = 60_000;
/** Requests in any minute: 60 for each run without those that catch up with existing messages, but not more than this in total. */
const maxRequestsPerMinute = 300;
/** Requests that one poll may make in addition to those for the list. */
const maxReads = 15;
/** Of them, those that read the state of a run that is not in the list; the others are for messages. */
const maxSingleReads = 7;
/** The usual number of requests of a large poll, with the pages of the list. */
const maxPollRequests = 40;
/** Up to this many runs are polled as often as a single one. */
const fewRuns = 5;
/** The shortest time between two readings of the list, in milliseconds, however often something changes. */
const listGap = 1_000;
/** After this number of readings of the list for new runs, all matching runs are read, because a run that had ended can continue. */
const completeEvery = 10;
/** Statuses in which a run sends no messages until its status changes. */
const quietStatuses: ReadonlySet<string | null> = new Set(['not_started', 'pending', 'waiting']);

export class RunsWatch {
  /** All runs that were found so far, in the order in which they were found. */
  readonly runs = new Map<string, WatchedRun>();
  readonly #client: Client;
  readonly #selection: RunSelection;
  readonly #options: ManyRunsOptions;
  readonly #lister: RunLister;
  readonly #clock: Clock;
  readonly #pace: Pace;
  /** Undefined until watching begins, and if no messages are wanted: then it is enough to read the list when something has changed. */
  #streams: RunStreams | undefined;
  /** Whether the service reports when runs of the team change. */
  #hasHints = false;
  #polls = 0;
  /** The newest run of the team that was seen; runs that are created later are new. */
  #newest: { id: string; createdAt: string } | undefined;
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(client: Client, selection: RunSelection, options: ManyRunsOptions) {
    this.#client = client;
    this.#selection = selection;
    this.#options = options;
    this.#clock = options.clock;
    this.#lister = new RunLister(options.teamId, selection.kind === 'filter' ? selection.filter : {});
    const isSmall = selection.kind === 'named' && selection.runs.length <= fewRuns;
    this.#pace =
      options.pace ??
      new Pace(options.clock, {
        ...(isSmall ? {} : { minimum: 1_000, maximum: 5_000 }),
        maxPerMinute: maxRequestsPerMinute,
        perMinute: () => Math.min(maxRequestsPerMinute, 60 * Math.max(1, this.#countRecentlyActive())),
        maxPollRequests,
      });
    if (selection.kind === 'named') for (const { id, listItem } of selection.runs) this.#add(id, listItem);
  }

  /** Whether nothing can happen any more: all runs have ended, and no others are added. */
  get isOver(): boolean {
    const isComplete = this.#selection.kind === 'named' || (this.#polls > 0 && !this.#selection.addsNew);
    return isComplete && [...this.runs.values()].every(({ isReportedOver }) => isReportedOver);
  }

  /** Looks for changes now, because something was just done here. */
  hurry(): void {
    this.#pace.hurry();
  }

  /**
   * What happens until all runs have ended.
   * @throws whatever the client throws about more than one run, and the signal's reason
   */
  async *updates(): AsyncGenerator<RunUpdate | { run?: undefined; body: WaitingBody }, void, undefined> {
    const end = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, end.signal]);
    const channel = new Channel<RunUpdate | { run?: undefined; body: WaitingBody }>();
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
          this.#pace.hurry();
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
        if (run !== undefined && 'position' in body) run.position = body.position;
        if (run !== undefined && (body.type === 'run.finished' || body.type === 'run.lost')) run.isReportedOver = true;
        yield update;
        if (this.isOver) return;
      }
    } finally {
      end.abort(new Error('The runs are not watched any more.'));
    }
  }

  #active(): WatchedRun[] {
    return [...this.runs.values()].filter(({ isOver }) => !isOver);
  }

  /**
   * How many runs were active at some time in the last minute. If runs that have just ended did not count, their requests would use up
   * the limit of the others, which would then be read at the end of the minute.
   */
  #countRecentlyActive(): number {
    const now = steadyTime(this.#clock);
    for (const run of this.#active()) run.activeAt = now;
    return [...this.runs.values()].filter(({ activeAt }) => activeAt > now - minute).length;
  }

  #add(id: string, listItem?: RunListItem): WatchedRun {
    const run = new WatchedRun(id, this.#clock, listItem, this.#options.starts?.get(id));
    this.runs.set(id, run);
    return run;
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
      hurry: () => this.#pace.hurry(),
    });
  }

  #rest(): void {
    this.#pace.rest(this.#hasHints && (!this.#options.messages || this.#active().every(({ isStreamed }) => isStreamed)));
  }

  async #poll(channel: Channel<RunUpdate | { run?: undefined; body: WaitingBody }>, signal: AbortSignal): Promise<void> {
    const poll = (call: Call) => this.#pollOnce(call, channel, signal);
    type Polled = WaitingBody | { type: 'update'; update: RunUpdate };
    for await (const polled of pollEvents<Polled & { type: string }>(this.#client, { ...this.#options, signal, pace: this.#pace }, poll)) {
      if ('update' in polled) await channel.put(polled.update);
      else await channel.put({ body: polled as WaitingBody });
      if (this.isOver) return;
    }
  }

  async *#pollOnce(
    call: Call,
    channel: Pick<Channel<unknown>, 'end'>,
    signal: AbortSignal,
  ): AsyncGenerator<{ type: 'update'; update: RunUpdate }, void, undefined> {
    const gap = this.#listedAt + listGap - steadyTime(this.#clock);
    if (gap > 0 && this.#hasHints) await this.#clock.sleep(gap, signal);
    this.#listedAt = steadyTime(this.#clock);
    for await (const update of this.#changes(call)) yield { type: 'update', update };
    this.#polls += 1;
    this.#streams?.open();
    this.#rest();
    // Runs whose end was reported earlier end without an event.
    if (this.isOver) channel.end();
  }

  /** One reading of the list, of the runs that are not in it, and of messages. */
  async *#changes(call: Call): AsyncGenerator<RunUpdate, void, undefined> {
    const budget = { reads: maxReads };
    const counted: Call = (id, input, options) => {
      if (id !== 'listRuns') budget.reads -= 1;
      return call(id, input, options);
    };
    const seenRuns = new Set<WatchedRun>();
    for await (const item of this.#discovered(counted)) {
      const run = this.runs.get(item.id) ?? this.#add(item.id, item);
      run.listItem = item;
      seenRuns.add(run);
      if (run.isOver && !isFinal(item.status)) {
        run.isOver = false;
        run.isReportedOver = false;
      }
      yield* this.#observe(counted, run, readingOf(item), budget);
    }
    const unseenRuns = this.#active().filter((run) => !seenRuns.has(run) && !run.isStreamed);
    if (unseenRuns.length > 0) {
      for await (const result of this.#lister.current(counted, unseenRuns, maxSingleReads)) {
        if ('error' in result) yield* this.#lose(result.run, result.error);
        else {
          if ('title' in result.reading.run) result.run.listItem = result.reading.run;
          yield* this.#observe(counted, result.run, result.reading, budget);
        }
      }
    }
    if (this.#options.messages) yield* this.#readMessages(counted, budget);
  }

  /** The runs in the list that match the filter; only new ones if the event stream reports the others. */
  async *#discovered(call: Call): AsyncGenerator<RunListItem, void, undefined> {
    if (this.#selection.kind === 'named' || (this.#polls > 0 && !this.#selection.addsNew)) return;
    if (this.#newest === undefined) this.#newest = await this.#lister.newest(call);
    else {
      // A run can end before the next reading of the list, so that it never matches as an active one.
      const { createdAt, id: newestId } = this.#newest;
      for await (const item of this.#lister.newerThan(call, createdAt)) {
        if (item.id === newestId) continue;
        if (item.created_at !== null && item.created_at > this.#newest.createdAt)
          this.#newest = { id: item.id, createdAt: item.created_at };
        yield item;
      }
      if (this.#polls % completeEvery !== 0 && this.#active().every(({ isStreamed }) => isStreamed)) return;
    }
    yield* this.#lister.matching(call);
  }

  /** The events that follow from a reading. The messages of a run come before its end, and before the request that they explain. */
  async *#observe(call: Call, run: WatchedRun, reading: Reading, budget: { reads: number }): AsyncGenerator<RunUpdate, void, undefined> {
    if (run.isStreamed || run.isOver) return;
    const { state } = run;
    if (isFinal(reading.run.status) && run.position.isFinished) {
      if (budget.reads <= 0) return;
      // Its end was reported by the command that is continued.
      if (await isStillFinished({ call } as Pick<Client, 'call'>, run.id, run.position, reading.run.status)) {
        Object.assign(run, { run: reading.run, isOver: true, isReportedOver: true });
        return;
      }
    }
    if (this.#streams?.take(run)) {
      run.run = reading.run;
      return;
    }
    const isEnd = isFinal(reading.run.status);
    // The end may be unreported although the status is known: the stream broke in between, or the run has continued and ended again.
    if (!isEnd && !state.differs(reading.run, reading.request) && !state.isNew) return;
    const needsRun = reading.isListed && (isEnd || (reading.run.status === 'waiting' && reading.request === null));
    // An end is reported with all messages, at the latest by a later poll.
    const needsMessages = isEnd && this.#options.messages;
    if (budget.reads < Number(needsRun) + Number(needsMessages)) return;
    let current = reading;
    if (needsRun) {
      const result = await readOne(call, run);
      if ('error' in result) return yield* this.#lose(run, result.error);
      current = result.reading;
    }
    run.run = current.run;
    if (this.#options.messages) {
      if (budget.reads > 0) yield* this.#messagesOf(call, run);
      else run.hasUnreadMessages = true;
    }
    yield* this.#stateChanges(run, current.run, current.request);
  }

  /** The changes of a run's state, determined at once: a stream may change it while they are consumed. */
  *#stateChanges(run: WatchedRun, current: Run, request: HumanRequest | null): Generator<RunUpdate, void, undefined> {
    if (run.isStreamed || run.isOver) return;
    const bodies = [...withPositions(run.state, run.state.run(current, request))];
    if (isFinal(current.status)) run.isOver = true;
    for (const body of bodies) yield { run, body };
  }

  *#lose(run: WatchedRun, error: AopsError): Generator<RunUpdate, void, undefined> {
    run.isOver = true;
    yield { run, body: { type: 'run.lost', error } };
  }

  async *#messagesOf(call: Call, run: WatchedRun): AsyncGenerator<RunUpdate, void, undefined> {
    run.hasUnreadMessages = false;
    run.messagesReadAt = this.#polls;
    for await (const body of run.poller.messages(call)) yield { run, body };
  }

  /** Reads messages of the runs whose messages were read longest ago, as far as the limit of requests allows. */
  async *#readMessages(call: Call, budget: { reads: number }): AsyncGenerator<RunUpdate, void, undefined> {
    const due = this.#active()
      .filter((run) => !run.isStreamed && run.messagesReadAt < this.#polls)
      .filter((run) => run.hasUnreadMessages || !quietStatuses.has(run.state.status))
      .sort((a, b) => a.messagesReadAt - b.messagesReadAt);
    // Most reads are for runs that send messages now; the others are for what runs that wait have sent before.
    const busyRuns = due.filter(({ state }) => !quietStatuses.has(state.status));
    const firstRuns = busyRuns.slice(0, Math.ceil((budget.reads * 2) / 3));
    const isFirst = new Set(firstRuns);
    for (const run of [...firstRuns, ...due.filter((each) => !isFirst.has(each))]) {
      if (budget.reads <= 0) return;
      yield* this.#messagesOf(call, run);
    }
  }
}

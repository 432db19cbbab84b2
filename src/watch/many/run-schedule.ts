/**
 * When the state of runs that are polled together, and the messages of each of them, are read next. The list of runs tells which of them
 * have changed. Some services change `updated_at` of a run with each of its messages, so that only these runs need to be read; with all
 * other services, each run in progress is read in turn.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { RunListItem } from '../../interface/types.ts';
import { quietStatuses } from '../run-status.ts';
import { requestGap } from './request-budget.ts';
import type { WatchedRun } from './watched-run.ts';

/** Milliseconds between two readings of the state of all runs: usually, while nothing happens, and while messages need most requests. */
const stateGaps = { usual: 1_000, calm: 2_000, crowded: 2_500 };
/** The same for each request that a reading makes, so that a reading of many pages leaves requests for messages. */
const gapPerRequest = 500;
/** The same while something else reports changes. */
const restingGap = 30_000;
/** How long nothing has happened while nothing is expected to happen soon, in milliseconds. */
const calmAfter = 30_000;
/** Milliseconds between two readings of the messages of a run: that sends some, that might, and whose changes the list shows. */
const messageGaps = { busy: 1_000, silent: 2_000, listed: 10_000 };
/** How long after its last message or change a run is busy, in milliseconds; the second if the list shows its changes. */
const busyFor = { unlisted: 10_000, listed: 3_000 };
/** The number of busy runs whose messages need most requests; twice as many if the list shows which of them have changed. */
const crowd = Math.floor(stateGaps.usual / requestGap);
/** What counts as that gap for a run that has changed, in milliseconds, so that it is read before others that are busy. */
const changedGap = 250;

export interface RunScheduleOptions {
  runs: ReadonlyMap<string, WatchedRun>;
  /** How much longer pauses are, because of the rate limit. */
  stretch: () => number;
  /** Whether the messages of the runs are read. */
  messages: boolean;
}

export class RunSchedule {
  readonly #clock: Clock;
  readonly #options: RunScheduleOptions;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The requests of the last reading of the state. */
  #requests = 1;
  #isHurried = false;
  #isResting = false;
  #changedAt: number;
  /** Whether `updated_at` in the list changes with each message; undefined as long as that is unknown. */
  #showsMessages: boolean | undefined;

  constructor(clock: Clock, options: RunScheduleOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#changedAt = steadyTime(clock);
  }

  /** Sets whether something else reports when there is something to read. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
  }

  /**
   * Makes the state due.
   * @param isHint whether something else has reported a change, which may happen any number of times in a second
   */
  hurry(isHint: boolean): void {
    if (isHint) this.#isHurried = true;
    else this.#readAt = Number.NEGATIVE_INFINITY;
  }

  /** Notes that a reading of the state begins. */
  beginState(): void {
    this.#readAt = steadyTime(this.#clock);
    this.#isHurried = false;
  }

  /** Notes the number of requests of this reading. */
  endState(requests: number): void {
    this.#requests = requests;
  }

  get isStateDue(): boolean {
    return this.#stateDueAt <= steadyTime(this.#clock);
  }

  /** When something is to be read next, in steady time. */
  get dueAt(): number {
    let dueAt = this.#stateDueAt;
    for (const run of this.#options.runs.values()) dueAt = Math.min(dueAt, this.#messagesDueAt(run));
    return dueAt;
  }

  /**
   * The runs whose messages are to be read now: at most this many, and half or more of them busy ones if there are enough. Of both,
   * those come first that have waited longest in proportion to how often they are read.
   */
  dueRuns(maxRuns: number): WatchedRun[] {
    const now = steadyTime(this.#clock);
    const urgency = (run: WatchedRun): number =>
      (now - Math.max(run.messagesReadAt, run.foundAt)) / (hasChanged(run) ? changedGap : this.#messageGap(run));
    const due = [...this.#options.runs.values()].filter((run) => this.#messagesDueAt(run) <= now);
    due.sort((a, b) => urgency(b) - urgency(a));
    const isFirst = (run: WatchedRun): boolean => this.#isBusy(run) || hasChanged(run);
    const [first, second] = [due.filter(isFirst), due.filter((run) => !isFirst(run))];
    // Without changes in the list, it takes a look at silent runs to notice that they are busy again.
    const share = this.#showsMessages === true ? 3 / 4 : 1 / 2;
    const firstCount = Math.max(Math.ceil(maxRuns * share), maxRuns - second.length);
    return [...first.slice(0, firstCount), ...second].slice(0, maxRuns);
  }

  /**
   * Notes the row of a run in the list.
   * @param requestedAt when the page was requested, in steady time
   */
  observe(run: WatchedRun, { status, updated_at: updatedAt, submitted_prompt_count: prompts }: RunListItem, requestedAt: number): void {
    const version = `${updatedAt} ${prompts}`;
    const { surprise } = run;
    if (surprise !== undefined && requestedAt > surprise.at) {
      if (surprise.listVersion === version) this.#showsMessages = false;
      run.surprise = undefined;
    }
    if (run.listVersion !== undefined && run.listVersion !== version) {
      run.changedAt = steadyTime(this.#clock);
      run.hasSameStatus = status === run.state.status;
      this.#changedAt = run.changedAt;
    }
    run.listVersion = version;
  }

  /** Notes that a run has changed in a way that is reported. */
  recordChange(run: WatchedRun): void {
    run.newsAt = steadyTime(this.#clock);
    this.#changedAt = run.newsAt;
  }

  /**
   * Notes that the messages of a run were read.
   * @param beganAt when the reading began, in steady time
   * @param hasNews whether there were any that had not been read before
   */
  recordMessages(run: WatchedRun, beganAt: number, hasNews: boolean): void {
    const { messagesReadAt: previouslyAt, changedAt } = run;
    run.messagesReadAt = beganAt;
    if (!hasNews) return;
    this.recordChange(run);
    if (previouslyAt === Number.NEGATIVE_INFINITY) return;
    if (changedAt <= previouslyAt) run.surprise = { at: run.newsAt, listVersion: run.listVersion };
    else if (run.hasSameStatus) this.#showsMessages ??= true;
  }

  get #stateDueAt(): number {
    if (this.#isResting && !this.#isHurried) return this.#readAt + restingGap;
    return this.#readAt + Math.max(this.#stateGap(), gapPerRequest * this.#requests) * this.#options.stretch();
  }

  #stateGap(): number {
    if (this.#isHurried) return stateGaps.usual;
    const now = steadyTime(this.#clock);
    const talking = [...this.#options.runs.values()].filter((run) => mayTalk(run) && !quietStatuses.has(run.state.status));
    if (talking.length === 0) return now - this.#changedAt > calmAfter ? stateGaps.calm : stateGaps.usual;
    if (!this.#options.messages) return stateGaps.usual;
    const busyCount = talking.filter((run) => this.#isBusy(run)).length;
    return busyCount > (this.#showsMessages === true ? 2 * crowd : crowd) ? stateGaps.crowded : stateGaps.usual;
  }

  #messagesDueAt(run: WatchedRun): number {
    if (!this.#options.messages || !mayTalk(run)) return Number.POSITIVE_INFINITY;
    if (run.hasUnreadMessages || hasChanged(run)) return Number.NEGATIVE_INFINITY;
    if (quietStatuses.has(run.state.status)) return Number.POSITIVE_INFINITY;
    return run.messagesReadAt + this.#messageGap(run) * this.#options.stretch();
  }

  #messageGap(run: WatchedRun): number {
    if (this.#isBusy(run)) return messageGaps.busy;
    return this.#showsMessages === true ? messageGaps.listed : messageGaps.silent;
  }

  #isBusy({ newsAt, changedAt }: WatchedRun): boolean {
    const since = steadyTime(this.#clock) - Math.max(newsAt, changedAt);
    return since < (this.#showsMessages === true ? busyFor.listed : busyFor.unlisted);
  }
}

/** Whether the messages of a run are read by polling. */
const mayTalk = ({ isStreamed, isOver, state }: WatchedRun): boolean => !isStreamed && !isOver && !state.isNew;

/** Whether the list has shown a change since its messages were read. */
const hasChanged = ({ changedAt, messagesReadAt }: WatchedRun): boolean => changedAt > messagesReadAt;

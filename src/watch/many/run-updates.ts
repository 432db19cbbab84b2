/** Turns what was read of a run into its events, and reads what is missing for them. */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { AopsError } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import type { Call } from '../polling.ts';
import { isStillFinished } from '../resume/start-position.ts';
import { isFinal } from '../run-status.ts';
import { type PositionedBody, withPositions } from '../watch-run.ts';
import { isAboutOneRun, type Reading, readOne } from './run-lister.ts';
import type { RunSchedule } from './run-schedule.ts';
import type { WatchedRun } from './watched-run.ts';

/** Something new: an event of a run, or that it cannot be read any more. */
export type RunUpdate = { run: WatchedRun; body: PositionedBody } | { run: WatchedRun; body: { type: 'run.lost'; error: AopsError } };

/** Requests that one reading of the state may make in addition to those for the list, before what it has read is out of date. */
const maxReads = 15;
/** Of them, those that read the state of a run that is not in the list. */
export const maxSingleReads = 7;
/** Of them, those that read a waiting run again because the list does not show its request. */
const maxChecks = 2;
/** How long a waiting run whose request the list does not show remains unread, in milliseconds; the second if it has no `updated_at`. */
const checkGaps = { listed: 60_000, unlisted: 10_000 };
/** Messages of one run that are read before those of others have their turn. */
const maxMessages = 500;

/** The requests that one reading of the state may still make. */
export interface Budget {
  reads: number;
  checks: number;
}

/** The budget of each reading. */
export const readingBudget = (): Budget => ({ reads: maxReads, checks: maxChecks });

/** Whether a reading says nothing about a run that is not known better already. */
const isOutdated = (run: WatchedRun, { requestedAt }: Reading): boolean => run.isStreamed || run.isOver || requestedAt < run.streamedUntil;

interface Options {
  clock: Clock;
  schedule: RunSchedule;
  /** Whether the messages of the runs are wanted. */
  messages: boolean;
  /** Leaves a run to an event stream, if there is one for it. */
  takesOver: (run: WatchedRun) => boolean;
}

export class RunUpdates {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The events that follow from a reading. The messages of a run come before its end, and before the request that they explain. */
  async *observe(call: Call, run: WatchedRun, reading: Reading, budget: Budget): AsyncGenerator<RunUpdate, void, undefined> {
    if (isOutdated(run, reading)) return;
    const { state } = run;
    if (isFinal(reading.run.status) && run.position.isFinished) {
      if (budget.reads <= 0) return;
      // Its end was reported by the command that is continued.
      if (await isStillFinished({ call } as Pick<Client, 'call'>, run.id, run.position, reading.run.status)) {
        Object.assign(run, { run: reading.run, isOver: true, isReportedOver: true });
        return;
      }
    }
    if (this.#options.takesOver(run)) {
      run.run = reading.run;
      return;
    }
    const isEnd = isFinal(reading.run.status);
    // The end may be unreported although the status is known: the stream broke in between, or the run has continued and ended again.
    if (!isEnd && !state.differs(reading.run, reading.request) && !state.isNew) return;
    const needsRun = reading.isListed && (isEnd || (reading.run.status === 'waiting' && reading.request === null));
    const isHidden = needsRun && state.status === 'waiting' && state.request !== null;
    // An end is reported with all messages, at the latest by a later poll.
    const needsMessages = isEnd && this.#options.messages;
    if (budget.reads < Number(needsRun) + Number(needsMessages)) return;
    let current: Reading = reading;
    if (needsRun) {
      if (isHidden && !this.#mayCheck(run, budget)) return;
      const result = await readOne(call, run, this.#options.clock);
      if ('error' in result) return yield* this.lose(run, result.error);
      current = result.reading;
      if (isOutdated(run, current)) return;
      if (isHidden && !state.differs(current.run, current.request)) return;
    }
    run.run = current.run;
    if (this.#options.messages) {
      if (budget.reads > 0) yield* this.messages(call, run, Number.POSITIVE_INFINITY);
      else run.hasUnreadMessages = true;
    }
    // A stream may have changed its state in the meantime.
    if (!isOutdated(run, current)) yield* this.#stateChanges(run, current.run, current.request);
  }

  /** The changes of a run's state, determined at once: a stream may change it while they are consumed. */
  *#stateChanges(run: WatchedRun, current: Run, request: HumanRequest | null): Generator<RunUpdate, void, undefined> {
    const { isNew } = run.state;
    const bodies = [...withPositions(run.state, run.state.run(current, request))];
    if (isFinal(current.status)) run.isOver = true;
    if (bodies.length > 0 && !isNew) this.#options.schedule.recordChange(run);
    for (const body of bodies) yield { run, body };
  }

  /** The end of a run that cannot be read any more. */
  *lose(run: WatchedRun, error: AopsError): Generator<RunUpdate, void, undefined> {
    run.isOver = true;
    yield { run, body: { type: 'run.lost', error } };
  }

  /** Whether to read a waiting run whose request is known, and which the list does not show. */
  #mayCheck(run: WatchedRun, budget: Budget): boolean {
    const now = steadyTime(this.#options.clock);
    const hasChanged = run.changedAt >= run.checkedAt;
    const gap = run.run?.updated_at === undefined ? checkGaps.unlisted : checkGaps.listed;
    if (!hasChanged && (now - run.checkedAt < gap || budget.checks <= 0)) return false;
    if (!hasChanged) budget.checks -= 1;
    run.checkedAt = now;
    return true;
  }

  /**
   * The messages of a run that were not read before.
   * @param max about how many of them; the others remain unread
   */
  async *messages(call: Call, run: WatchedRun, max = maxMessages): AsyncGenerator<RunUpdate, void, undefined> {
    const beganAt = steadyTime(this.#options.clock);
    let count = 0;
    // Until all of them have been read, also if reading them fails.
    run.hasUnreadMessages = true;
    try {
      for await (const body of run.poller.messages(call)) {
        count += 1;
        yield { run, body };
        if (count >= max) return;
      }
      run.hasUnreadMessages = false;
    } catch (error) {
      if (!isAboutOneRun(error)) throw error;
      yield* this.lose(run, error);
    } finally {
      this.#options.schedule.recordMessages(run, beganAt, count > 0);
    }
  }
}

/** The pace of polling many runs: pauses end when something is due, and requests keep to a budget. */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { Allowance } from '../../client/limits/rate-gate.ts';
import { HurriedSleep } from '../hurried-sleep.ts';
import { isNearlyUsedUp, type Pacing, stretchedPause } from '../pace.ts';
import type { RequestBudget } from './request-budget.ts';
import type { RunSchedule } from './run-schedule.ts';

/** Milliseconds after a failed poll, which double with each further one. */
const firstFailurePause = 1_000;
const maxFailurePause = 5_000;

export class RunsPace implements Pacing {
  /** Polls of many runs make as many requests as are due. */
  readonly isQuick = false;
  readonly #clock: Clock;
  readonly #schedule: Pick<RunSchedule, 'dueAt'>;
  readonly #budget: Pick<RequestBudget, 'spend'>;
  readonly #sleep: HurriedSleep;
  #failures = 0;

  constructor(clock: Clock, schedule: Pick<RunSchedule, 'dueAt'>, budget: Pick<RequestBudget, 'spend'>) {
    this.#clock = clock;
    this.#schedule = schedule;
    this.#budget = budget;
    this.#sleep = new HurriedSleep(clock);
  }

  spend(signal: AbortSignal): Promise<void> {
    return this.#budget.spend(signal);
  }

  /** Ends the current pause, or else the next one. */
  hurry(): void {
    this.#sleep.hurry();
  }

  /** Notes whether a poll has succeeded. */
  record(hasSucceeded: boolean): void {
    this.#failures = hasSucceeded ? 0 : this.#failures + 1;
  }

  async pause(_hasNews: boolean, signal: AbortSignal, allowance?: Allowance): Promise<void> {
    const failurePause = this.#failures === 0 ? 0 : Math.min(maxFailurePause, firstFailurePause * 2 ** (this.#failures - 1));
    const pause = Math.max(0, this.#schedule.dueAt - steadyTime(this.#clock), failurePause);
    // What is due takes all of the rate limit into account, except that it is nearly used up.
    const isStopped = allowance !== undefined && isNearlyUsedUp(allowance);
    await this.#sleep.for(isStopped ? stretchedPause(pause, allowance, Math.random) : pause, signal);
  }
}

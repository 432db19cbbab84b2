/** One of the runs that are watched together. */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { Run, RunListItem } from '../../interface/types.ts';
import { type RunPosition, runStart } from '../resume/run-position.ts';
import { RunState } from '../run-state.ts';
import { RunPoller } from '../watch-run.ts';

export class WatchedRun {
  readonly id: string;
  /** When it was found, in steady time. */
  readonly foundAt: number;
  readonly state: RunState;
  readonly poller: RunPoller;
  /** How far its events were taken. */
  position: RunPosition;
  /** Its row in the list of runs, if it was found there. */
  listItem: RunListItem | undefined;
  /** As it was last read. */
  run: Run | undefined;
  /** When it became known that it has ended, in steady time. What was requested before that may be out of date. */
  overSince = Number.NEGATIVE_INFINITY;
  /** Whether it is over, once the event that reports it was taken. */
  isReportedOver = false;
  /** When that event was taken, in steady time. */
  reportedAt = Number.NEGATIVE_INFINITY;
  /** When an event stream last stopped to report its changes, in steady time. What was requested before that may be out of date. */
  streamedUntil = Number.NEGATIVE_INFINITY;
  /** Whether it has messages that were not read because of the limit of requests. */
  hasUnreadMessages = false;
  /** When it was last read by itself, as the number of that read; 0 if it was not. */
  readAt = 0;
  /** When its messages were last read, and last contained something new, in steady time. */
  messagesReadAt = Number.NEGATIVE_INFINITY;
  newsAt = Number.NEGATIVE_INFINITY;
  /** What its row in the list contained that changes with the run. */
  listVersion: string | undefined;
  /** When that last changed, in steady time, and whether the status remained the same. */
  changedAt = Number.NEGATIVE_INFINITY;
  hasSameStatus = false;
  /** Messages that were found although its row in the list had not changed. */
  surprise: { at: number; listVersion: string | undefined } | undefined;
  /** When it was last read because the list shows less of it, in steady time. */
  checkedAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;
  #isStreamed = false;
  #isOver = false;

  /** @param start what was reported earlier, and is not reported again */
  constructor(id: string, clock: Clock, listItem?: RunListItem, start: RunPosition = runStart) {
    this.id = id;
    this.#clock = clock;
    this.foundAt = steadyTime(clock);
    this.state = new RunState(start);
    this.position = start;
    this.poller = new RunPoller(id, this.state, clock);
    this.listItem = listItem;
    this.run = listItem;
  }

  /** Whether it has ended, or cannot be read any more, as far as is known. */
  get isOver(): boolean {
    return this.#isOver;
  }

  set isOver(isOver: boolean) {
    if (isOver) this.overSince = steadyTime(this.#clock);
    this.#isOver = isOver;
  }

  /** Whether an event stream reports its changes. */
  get isStreamed(): boolean {
    return this.#isStreamed;
  }

  set isStreamed(isStreamed: boolean) {
    if (!isStreamed) this.streamedUntil = steadyTime(this.#clock);
    this.#isStreamed = isStreamed;
  }

  get number(): number | null | undefined {
    return this.run?.run_number ?? this.listItem?.run_number;
  }

  /** When it was created, ISO 8601; undefined if that is unknown. */
  get createdAt(): string | undefined {
    return this.run?.created_at ?? undefined;
  }
}

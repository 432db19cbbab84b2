/**
 * The resume tokens of a stream whose position has many parts. A token with the whole position would be longer than most events, so there
 * is one at most once a second; the tokens of the other events are short, and stand for a position that is stored on this machine.
 */
import { steadyTime } from '../../base/clock.ts';
import { encodeToken } from '../../watch/resume/token.ts';
import type { Context } from '../kit/context.ts';
import { type LargePoint, PointJournal, removeOldJournals } from './point-journal.ts';

/** Up to this many parts, every token contains the whole position. */
const fewParts = 50;
/** Then, the time between two tokens that do, in milliseconds. */
const wholeGap = 1_000;

export class StreamTokens {
  readonly #context: Context;
  readonly #journal: PointJournal;
  #wholeAt = Number.NEGATIVE_INFINITY;

  constructor(context: Context) {
    this.#context = context;
    this.#journal = new PointJournal(context);
  }

  /**
   * The token of the position after an event.
   * @param parts the number of parts of the position
   * @param whole the position
   * @param change the parts that the event has changed
   */
  after(parts: number, whole: () => LargePoint, change: () => LargePoint): string {
    if (parts <= fewParts && !this.#journal.isOpen) return encodeToken(whole());
    if (!this.#journal.isOpen) removeOldJournals(this.#context, this.#context.clock.now()).catch(() => undefined);
    const stored = this.#journal.add(change(), whole);
    const now = steadyTime(this.#context.clock);
    if (now < this.#wholeAt + wholeGap) return stored;
    this.#wholeAt = now;
    return encodeToken(whole());
  }

  close(): void {
    this.#journal.close();
  }
}

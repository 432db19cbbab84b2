/** Combines notifications of the same moment into one: nobody reads ten of them. */
import type { Clock } from '../../base/clock.ts';

/** For how long further notifications are waited for, in milliseconds. */
export const collectMilliseconds = 250;

export class DesktopNotices {
  readonly #notify: (text: string) => void;
  readonly #clock: Clock;
  readonly #endController = new AbortController();
  #texts: string[] = [];

  constructor(notify: (text: string) => void, clock: Clock) {
    this.#notify = notify;
    this.#clock = clock;
  }

  add(text: string): void {
    this.#texts.push(text);
    if (this.#texts.length > 1) return;
    const flush = (): void => this.flush();
    this.#clock.sleep(collectMilliseconds, this.#endController.signal).then(flush, () => undefined);
  }

  /** Shows what was collected. */
  flush(): void {
    const [first, ...laterTexts] = this.#texts;
    this.#texts = [];
    if (first !== undefined) this.#notify(laterTexts.length === 0 ? first : `${first} (and ${laterTexts.length} more)`);
  }

  end(): void {
    this.#endController.abort();
    this.flush();
  }
}

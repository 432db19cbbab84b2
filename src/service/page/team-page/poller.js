/** Polls the service: often while the page is in view, rarely while it is not, and with growing pauses while the service is unavailable. */
import { ApiError, unavailability } from './api.js';

/** Milliseconds between polls of a page that is not in view. */
const hiddenPace = 30_000;
/** Seconds to wait after one failure, two failures, and so on. */
const pauses = [1, 2, 4, 8, 15, 30];

/**
 * @typedef {object} Problem
 * @property {'away' | 'failing' | 'pause'} kind
 * @property {number} until milliseconds
 */

export class Poller {
  #work;
  #listener;
  #failures = 0;
  #isWoken = false;
  /** @type {(() => void) | undefined} */
  #wake;
  #end = new AbortController();
  #round = new AbortController();

  /**
   * @param {(signal: AbortSignal) => Promise<number>} work reads; resolves to the milliseconds until the next time
   * @param {{ onProblem: (problem: Problem | undefined) => void, onSignOut: () => void, onFailure: (error: unknown) => void }} listener
   */
  constructor(work, listener) {
    this.#work = work;
    this.#listener = listener;
    document.addEventListener('visibilitychange', () => !document.hidden && this.wake(), { signal: this.#end.signal });
    addEventListener('online', () => this.wake(), { signal: this.#end.signal });
    void this.#loop();
  }

  /** Reads immediately, or as soon as the current read has ended. */
  wake() {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Aborts the current read and starts another one, because the view has changed. */
  restart() {
    this.#round.abort();
    this.wake();
  }

  end() {
    this.#end.abort();
    this.#round.abort();
    this.#wake?.();
  }

  async #loop() {
    while (!this.#end.signal.aborted) {
      this.#isWoken = false;
      this.#round = new AbortController();
      await this.#pause(await this.#poll(this.#round.signal));
    }
  }

  /** @param {AbortSignal} signal @returns {Promise<number>} milliseconds */
  async #poll(signal) {
    try {
      const pace = await this.#work(signal);
      this.#failures = 0;
      this.#listener.onProblem(undefined);
      return document.hidden ? Math.max(pace, hiddenPace) : pace;
    } catch (error) {
      if (signal.aborted) return 0;
      return this.#handleError(error);
    }
  }

  /** @param {unknown} error */
  #handleError(error) {
    if (error instanceof ApiError && error.status === 401) {
      this.end();
      this.#listener.onSignOut();
      return 0;
    }
    const kind = unavailability(error);
    if (kind === undefined) {
      this.#listener.onFailure(error);
      return hiddenPace;
    }
    const retryAfter = error instanceof ApiError ? error.retryAfter : 0;
    if (kind === 'pause') return this.#reportProblem(kind, retryAfter * 1_000);
    const seconds = pauses[Math.min(this.#failures++, pauses.length - 1)] ?? 30;
    return this.#reportProblem(kind, Math.max(seconds * (1 + Math.random() / 5), retryAfter) * 1_000);
  }

  /** @param {Problem['kind']} kind @param {number} milliseconds */
  #reportProblem(kind, milliseconds) {
    this.#listener.onProblem({ kind, until: Date.now() + milliseconds });
    return milliseconds;
  }

  /** @param {number} milliseconds */
  #pause(milliseconds) {
    if (this.#isWoken || this.#end.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve(undefined);
      };
    });
  }
}

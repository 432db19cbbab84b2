/** Shows that the service cannot be reached, and counts down to the next attempt. */
import { el, fill } from './dom.js';

const words = {
  away: 'The service cannot be reached.',
  failing: 'The service is failing to respond.',
  pause: 'The service requested a pause.',
};

export class Banner {
  #place;
  #text = el('span', { role: 'status' });
  // Screen readers do not announce it every second.
  #countdown = el('span', { 'aria-hidden': 'true' });
  /** @type {import('./poller.js').Problem | undefined} */
  #problem;
  #timer;

  /** @param {HTMLElement} place @param {() => void} retry */
  constructor(place, retry) {
    this.#place = place;
    this.#timer = setInterval(() => this.#count(), 1_000);
    fill(place, this.#text, ' ', this.#countdown, ' ', el('button', { type: 'button', class: 'plain', click: retry }, 'Try now'));
  }

  /** @param {import('./poller.js').Problem | undefined} problem */
  show(problem) {
    this.#problem = problem;
    this.#place.hidden = problem === undefined;
    const button = this.#place.querySelector('button');
    if (button !== null) button.hidden = problem?.kind === 'pause';
    if (problem === undefined) return fill(this.#text);
    if (this.#text.textContent !== words[problem.kind]) this.#text.textContent = words[problem.kind];
    this.#count();
  }

  /** Frees the place for another banner. */
  close() {
    clearInterval(this.#timer);
    this.#place.hidden = true;
  }

  #count() {
    if (this.#problem === undefined) return;
    const seconds = Math.max(0, Math.ceil((this.#problem.until - Date.now()) / 1_000));
    this.#countdown.textContent =
      seconds === 0 ? 'Trying again…' : `${this.#problem.kind === 'pause' ? 'Continuing' : 'Trying again'} in ${seconds} s.`;
  }
}

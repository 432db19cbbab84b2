/** Stops a run, after a confirmation, because the step in progress cannot be restored. */
import { Keys } from './api.js';
import { announce, el, fill } from './dom.js';
import { proseText } from './words.js';

export class StopButton {
  #app;
  #id;
  #keys = new Keys();
  #ask = el('button', { type: 'button', class: 'plain' }, 'Stop');
  #problem = el('span', { class: 'problem', role: 'alert' });

  /** @param {import('./types.d.ts').App} app @param {string} id */
  constructor(app, id) {
    this.#app = app;
    this.#id = id;
    this.#ask.addEventListener('click', () => this.#confirm());
    this.element = el('div', { class: 'stop', hidden: true }, this.#ask);
  }

  /** @param {boolean} canStop */
  show(canStop) {
    this.element.hidden = !canStop || !this.#app.session.hasScope('runs:write');
    if (this.element.hidden) this.#reset(false);
  }

  #confirm() {
    const sure = el('button', { type: 'button', class: 'danger', click: () => void this.#send() }, 'Stop the run');
    const leave = el('button', { type: 'button', class: 'plain', click: () => this.#reset(true) }, 'Cancel');
    this.#problem.textContent = '';
    fill(this.element, el('span', {}, 'Stop this run?'), sure, leave, this.#problem);
    this.element.onkeydown = (event) => event.key === 'Escape' && this.#reset(true);
    leave.focus();
  }

  /** @param {boolean} focus */
  #reset(focus) {
    if (this.#ask.parentElement === this.element) return;
    fill(this.element, this.#ask);
    if (focus) this.#ask.focus();
  }

  async #send() {
    try {
      await this.#app.session.api.post(`/v2/runs/${encodeURIComponent(this.#id)}/stop`, undefined, this.#keys.for(this.#id));
      this.#keys.forget();
      announce('The run was stopped.');
      this.#reset(false);
    } catch (error) {
      this.#problem.textContent = error instanceof Error ? proseText(error.message) : 'The run could not be stopped.';
    }
    this.#app.wake();
  }
}

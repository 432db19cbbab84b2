/** Sends a message to a run. While the run waits for an answer, the box is not shown. */
import { Keys, Unreachable } from './api.js';
import { announce, el } from './dom.js';
import { dropDraft, keepDraft, readDraft } from './drafts.js';
import { proseText } from './words.js';

export class MessageBox {
  #app;
  #id;
  #keys = new Keys();
  #isBusy = false;
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  #hint = el('p', { class: 'quiet', id: 'message-hint' });
  #area;
  #button = el('button', { class: 'primary' }, 'Send');

  /** @param {import('./types.d.ts').App} app @param {string} id */
  constructor(app, id) {
    this.#app = app;
    this.#id = id;
    this.#area = el('textarea', { id: 'message', rows: 2, dir: 'auto', 'aria-describedby': 'message-hint' });
    this.#area.value = readDraft(`message.${id}`) ?? '';
    this.#area.addEventListener('input', () => keepDraft(`message.${id}`, this.#area.value));
    this.#area.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.isComposing) void this.#send();
    });
    this.element = el(
      'form',
      {
        class: 'message',
        hidden: true,
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          void this.#send();
        },
      },
      el('label', { for: 'message' }, 'Message to the run'),
      this.#area,
      el('div', { class: 'buttons' }, this.#button, this.#hint),
      this.#problem,
    );
  }

  /** @param {import('./types.d.ts').Run} run @param {boolean} isAsking */
  show(run, isAsking) {
    this.element.hidden = isAsking || run.status === 'failed' || !this.#app.session.hasScope('runs:write');
    const hint =
      run.status === 'completed'
        ? 'This starts another turn.'
        : run.status === 'interrupted'
          ? 'This continues the run.'
          : 'Later steps can see the message.';
    if (this.#hint.textContent !== hint) this.#hint.textContent = hint;
  }

  async #send() {
    const message = this.#area.value.trim();
    if (this.#isBusy) return;
    if (message === '') {
      this.#showProblem('Write a message.');
      this.#area.focus();
      return;
    }
    this.#setBusy(true);
    try {
      // The run might have created a request that is not on the screen yet, and the message must not answer it.
      const body = { message, expected_human_request_id: null };
      await this.#app.session.api.post(`/v2/runs/${encodeURIComponent(this.#id)}/messages`, body, this.#keys.for(body));
      this.#keys.forget();
      // Only what was sent, because more might have been written in the meantime.
      if (this.#area.value.trim() === message) {
        this.#area.value = '';
        dropDraft(`message.${this.#id}`);
      }
      this.#showProblem('');
      announce('Your message was sent.');
    } catch (error) {
      if (error instanceof Unreachable)
        this.#showProblem(
          'No response arrived, so the message might not have been delivered. You can safely send it again: it counts once.',
        );
      else this.#showProblem(error instanceof Error ? proseText(error.message) : 'The message could not be sent.');
    }
    this.#setBusy(false);
    this.#app.wake();
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.#isBusy = busy;
    this.#button.setAttribute('aria-disabled', String(busy));
  }

  /** @param {string} text */
  #showProblem(text) {
    this.#problem.textContent = text;
    this.#problem.hidden = text === '';
  }
}

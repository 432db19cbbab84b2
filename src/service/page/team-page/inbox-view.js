/** All human requests that wait for a person, oldest first. Answered ones stay, with their outcome, until the view is left. */
import { announce, el, fill, setText } from './dom.js';
import { Notifications } from './notifications.js';
import { RequestCard } from './request-card.js';
import { countText, isFinal, nameText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */

/** @implements {View} */
export class InboxView {
  #app;
  #list = el('div', { class: 'cards' });
  #empty = el('div', { class: 'empty', hidden: true });
  #count = el('p', { class: 'quiet' });
  /** @type {Map<string, RequestCard>} */
  #cards = new Map();
  #isFirst = true;

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    fill(
      this.#empty,
      el('h2', {}, 'Nothing is waiting for you'),
      el('p', {}, 'When a run has a question or needs approval, it appears here. You do not need to reload.'),
    );
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Inbox'), this.#count),
      this.#list,
      this.#empty,
      new Notifications(app.session).element,
    );
  }

  title = () => 'Inbox';

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const { waiting } = this.#app;
    const ids = new Set();
    for (const run of waiting) {
      const request = run.pending_human_request;
      if (request === null) continue;
      ids.add(request.id);
      if (this.#cards.has(request.id)) continue;
      const about = el('a', { href: `#/runs/${run.id}` }, el('bdi', {}, nameText(run.agent_name)), ` #${run.run_number}`);
      const card = new RequestCard(this.#app, run.id, request, about);
      this.#cards.set(request.id, card);
      this.#list.append(card.element);
      if (!this.#isFirst) announce(`A run asks: ${request.title}`);
    }
    this.#isFirst = false;
    for (const card of this.#cards.values()) if (card.isOpen && !ids.has(card.id)) await this.#settle(card, signal);
    const open = [...this.#cards.values()].filter((card) => card.isOpen).length;
    const all = Math.max(open, this.#app.waitingCount);
    setText(this.#count, open === 0 ? '' : `${open < all ? `${open} of ` : ''}${countText(all, 'request')} to answer`);
    this.#empty.hidden = open > 0;
    this.#empty.classList.toggle('after', this.#cards.size > 0);
    return 2_000;
  }

  /** Finds out why a request no longer waits. @param {RequestCard} card @param {AbortSignal} signal */
  async #settle(card, signal) {
    const { api } = this.#app.session;
    const path = `/v2/runs/${encodeURIComponent(card.runId)}`;
    /** @type {{ run: import('./types.d.ts').Run, pending_human_request: { id: string } | null }} */
    const { run, pending_human_request: pending } = await api.get(path, {}, signal);
    // The list was read before the request was created.
    if (pending?.id === card.id) return;
    /** @type {{ total: number }} */
    const { total } = await api.get(`${path}/messages`, { limit: 1 }, signal);
    /** @type {import('./types.d.ts').RunMessage[]} */
    const messages = [];
    for (let offset = Math.max(0, total - 20); offset < total; ) {
      /** @type {{ messages: import('./types.d.ts').RunMessage[] }} */
      const page = await api.get(`${path}/messages`, { limit: 20, offset }, signal);
      if (page.messages.length === 0) break;
      messages.push(...page.messages);
      offset += page.messages.length;
    }
    const answer = messages.findLast(({ role, timestamp }) => role === 'user' && timestamp >= card.askedAt)?.text_content;
    card.settle(
      run.status === 'interrupted' ? undefined : answer,
      run.status === 'interrupted' ? 'The run was stopped.' : isFinal(run.status) ? 'The run has ended.' : undefined,
    );
  }
}

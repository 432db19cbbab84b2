/** All human requests that wait for a person, oldest first. Answered ones stay, with their outcome, until the view is left. */
import { announce, el, fill, setText } from './dom.js';
import { FilterChips, Filters, namedFilterWords, unlessRefused } from './filters.js';
import { Notifications } from './notifications.js';
import { RequestCard } from './request-card.js';
import { countText, isFinal, nameText, took } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').RunListItem} RunListItem */

/** Zero for what is not a number of seconds. @param {string} text */
const secondsOf = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : 0);

/** @param {import('./types.d.ts').Session} session @returns {import('./filters.js').FilterWords} */
const chipWords = (session) => ({
  ...namedFilterWords(session),
  type: (value) => (value === 'approval' ? 'Only approvals' : value === 'question' ? 'Only questions' : `Type: ${value}`),
  'older-than': (value) => `Waiting for at least ${took(secondsOf(value) * 1_000)}`,
});

/** @implements {View} */
export class InboxView {
  #app;
  #filters = new Filters();
  #list = el('div', { class: 'cards' });
  #empty = el('div', { class: 'empty', hidden: true });
  #count = el('p', { class: 'quiet' });
  /** @type {Map<string, RequestCard>} */
  #cards = new Map();
  #isFirst = true;

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Inbox'), this.#count),
      new FilterChips(this.#filters, chipWords(app.session), [], () => app.restart()).element,
      this.#list,
      this.#empty,
      new Notifications(app.session).element,
    );
  }

  title = () => 'Inbox';

  /** @param {AbortSignal} signal */
  refresh(signal) {
    return unlessRefused(
      this.#filters,
      this.#empty,
      () => this.#read(signal),
      () => {
        this.#list.replaceChildren();
        this.#cards.clear();
      },
    );
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    const { waiting, total } = await this.#matchingRuns(signal);
    const ids = new Set();
    for (const run of waiting) {
      const request = run.pending_human_request;
      if (request === null) continue;
      ids.add(request.id);
      if (this.#cards.has(request.id)) continue;
      const about = el('a', { href: `#/runs/${run.id}` }, el('bdi', {}, nameText(run.agent_name)), ` #${run.run_number}`);
      const card = new RequestCard(this.#app, run.id, request, about);
      const later = [...this.#cards.values()].filter((other) => other.askedAt > card.askedAt);
      const next = later.toSorted((first, second) => first.askedAt.localeCompare(second.askedAt))[0];
      this.#list.insertBefore(card.element, next?.element ?? null);
      this.#cards.set(request.id, card);
      if (!this.#isFirst) announce(`A run asks: ${request.title}`);
    }
    this.#isFirst = false;
    for (const card of this.#cards.values()) if (card.isOpen && !card.isSending && !ids.has(card.id)) await this.#settle(card, signal);
    const open = [...this.#cards.values()].filter((card) => card.isOpen).length;
    const all = Math.max(open, total);
    setText(this.#count, open === 0 ? '' : `${open < all ? `${open} of ` : ''}${countText(all, 'request')} to answer`);
    this.#empty.hidden = open > 0;
    this.#showEmpty();
    this.#empty.classList.toggle('after', this.#cards.size > 0);
    return 2_000;
  }

  /**
   * The runs whose requests match the filters. Without filters, they have already been read for the number next to the link.
   * @param {AbortSignal} signal @returns {Promise<{ waiting: readonly RunListItem[], total: number }>}
   */
  async #matchingRuns(signal) {
    const { api, teamId } = this.#app.session;
    const [agent_id, case_queue_id] = [this.#filters.get('agent'), this.#filters.get('queue')];
    if (this.#filters.isEmpty) return { waiting: this.#app.waiting, total: this.#app.waitingCount };
    /** @type {{ data: RunListItem[], total: number }} */
    const { data, total } = await api.get(
      `/v2/teams/${encodeURIComponent(teamId)}/runs`,
      { status: 'waiting', sort_order: 'asc', limit: 100, agent_id, case_queue_id },
      signal,
    );
    const runs = this.#filters.all('run');
    const type = this.#filters.get('type');
    const until = Date.now() - secondsOf(this.#filters.get('older-than')) * 1_000;
    const waiting = data.filter(
      ({ id, pending_human_request: request }) =>
        request !== null &&
        (runs.length === 0 || runs.includes(id)) &&
        (type === '' || request.type === type) &&
        Date.parse(request.created_at) <= until,
    );
    return { waiting, total: data.length < total ? total : waiting.length };
  }

  #showEmpty() {
    const key = `empty ${this.#filters.signature}`;
    if (this.#empty.dataset.for === key) return;
    this.#empty.dataset.for = key;
    fill(
      this.#empty,
      ...(this.#filters.isEmpty
        ? [
            el('h2', {}, 'Nothing is waiting for you'),
            el('p', {}, 'When a run has a question or needs approval, it appears here. You do not need to reload.'),
          ]
        : [el('h2', {}, 'No matching requests'), el('p', {}, 'Remove a filter to see more requests.')]),
    );
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

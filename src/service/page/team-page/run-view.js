/** One run: its details, its progress, and its human request. Screenshots and files are panels of this view. */
import { ApiError } from './api.js';
import { announce, el, fill, fillKeepingFocus, icon } from './dom.js';
import { FilesPanel } from './files-panel.js';
import { MessageBox } from './message-box.js';
import { RequestCard } from './request-card.js';
import { ShotsPanel } from './shots-panel.js';
import { StopButton } from './stop-button.js';
import { Timeline } from './timeline.js';
import { between, isFinal, moment, money, nameText, proseText, statusMark } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').Run} Run */
/** @typedef {import('./types.d.ts').HumanRequest} HumanRequest */
/** @typedef {import('./types.d.ts').RunMessage} RunMessage */

const pageSize = 50;
/** Number of messages that are read at first; earlier ones are read on demand. */
const initialMessages = 200;

/** @implements {View} */
export class RunView {
  #app;
  #id;
  #name = el('h1', { tabindex: -1 }, 'Run');
  #facts = el('p', { class: 'facts' });
  #endNote = el('div', { class: 'ending', hidden: true });
  #place = el('div', { class: 'asked', tabindex: -1 });
  #activity = el(
    'p',
    { class: 'activity', hidden: true },
    el('span', { class: 'pulse', 'aria-hidden': 'true' }),
    el('span', {}, 'Working'),
  );
  #timeline;
  #stop;
  #box;
  /** @type {RequestCard | undefined} */
  #card;
  /** @type {{ refresh(signal: AbortSignal, run: Run): Promise<void>, element: HTMLElement } | undefined} */
  #panel;
  /** @type {{ name: string, signature: string, status: string, completedAt?: string | null | undefined }} */
  #displayedState = { name: '', signature: '', status: '' };
  /** What the agent has spent, if it reports that. */
  #cost = '';
  /** Offset from which messages are read; undefined before the first read. @type {number | undefined} */
  #offset;
  #firstOffset = 0;
  #isLoadingEarlier = false;
  /** The event stream of the run, while it is in progress. @type {import('./events.js').Events | undefined} */
  #events;

  /**
   * @param {import('./types.d.ts').App} app @param {string} id
   * @param {'timeline' | 'screenshots' | 'files'} panel @param {{ path: string, isFile: boolean }} at
   */
  constructor(app, id, panel, at) {
    this.#app = app;
    this.#id = id;
    this.#timeline = new Timeline(() => void this.#loadEarlier());
    this.#stop = new StopButton(app, id);
    this.#box = new MessageBox(app, id);
    if (panel === 'screenshots') this.#panel = new ShotsPanel(app, id);
    if (panel === 'files') this.#panel = new FilesPanel(app, id, at);
    const link = (/** @type {string} */ label, /** @type {string} */ to, /** @type {boolean} */ isHere) =>
      el('a', { href: `#/runs/${id}${to}`, 'aria-current': isHere ? 'page' : undefined }, label);
    this.element = el(
      'section',
      { class: `page ${panel === 'screenshots' ? '' : 'narrow'}` },
      el(
        'div',
        { class: 'run-head' },
        el('a', { class: 'up', href: '#/' }, icon('back'), 'Runs'),
        el('div', { class: 'head' }, this.#name, this.#stop.element),
        this.#facts,
        el(
          'nav',
          { class: 'tabs', 'aria-label': 'Run' },
          link('Timeline', '', panel === 'timeline'),
          link('Screenshots', '/screenshots', panel === 'screenshots'),
          link('Files', '/files', panel === 'files'),
        ),
      ),
      ...(this.#panel === undefined
        ? [this.#timeline.element, this.#place, this.#activity, this.#endNote, this.#box.element]
        : [this.#panel.element]),
    );
  }

  title = () => this.#displayedState.name || 'Run';

  isStreamed = () => this.#events?.isOpen === true;

  close() {
    this.#events?.close();
    this.#timeline.close();
  }

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const { api } = this.#app.session;
    const path = `/v2/runs/${encodeURIComponent(this.#id)}`;
    try {
      // The run is read first, so that all messages of a run that has ended are read after its end.
      /** @type {{ run: Run, pending_human_request: HumanRequest | null }} */
      const { run, pending_human_request: request } = await api.get(path, {}, signal);
      const { status, completedAt } = this.#displayedState;
      if (run.status !== status || run.completed_at !== completedAt) await this.#readDetail(run, signal);
      this.#follow(run);
      this.#showHead(run);
      if (this.#panel === undefined) await this.#showTimeline(run, request, signal);
      else await this.#panel.refresh(signal, run);
      return run.status === 'waiting' ? 2_500 : isFinal(run.status) ? 10_000 : 1_000;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 400)) throw error;
      this.#showMissing(error);
      return 30_000;
    }
  }

  /** A stream ends with the run; a message continues both. @param {Run} run */
  #follow(run) {
    if (isFinal(run.status)) {
      this.#events?.close();
      this.#events = undefined;
    } else {
      const path = `/v2/runs/${encodeURIComponent(this.#id)}/events?from=now`;
      this.#events ??= this.#app.session.api.events(path, () => this.#app.onChange());
    }
  }

  /** The name, and the cost until now. @param {Run} run @param {AbortSignal} signal */
  async #readDetail(run, signal) {
    /** @type {import('./types.d.ts').RunDetail | undefined} */
    let detail;
    /** @type {{ agent: { name: string } } | undefined} */
    let agentDetail;
    try {
      const { api } = this.#app.session;
      const agent = encodeURIComponent(run.agent_id ?? '');
      detail = await api.get(`/v2/agent/${agent}/runs/${encodeURIComponent(run.id)}`, {}, signal);
      if (this.#displayedState.name === '') agentDetail = await api.get(`/v2/agents/${agent}`, {}, signal);
    } catch (error) {
      // The agent was deleted; the run can still be read.
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
    }
    const cost = detail?.agent_session?.usage?.cost;
    this.#cost = cost == null ? '' : money(cost);
    if (this.#displayedState.name !== '') return;
    const number = detail?.run_number == null ? '' : ` #${detail.run_number}`;
    this.#displayedState.name = `${nameText(agentDetail?.agent.name ?? 'Run')}${number}`;
    fill(
      this.#name,
      el('bdi', {}, nameText(agentDetail?.agent.name ?? 'Run')),
      number === '' ? null : el('span', { class: 'number' }, number),
    );
    this.#app.wake();
  }

  /** @param {Run} run */
  #showHead(run) {
    const signature = `${run.status} ${run.started_at} ${run.completed_at} ${this.#cost}`;
    if (signature === this.#displayedState.signature) return;
    const hasChanged = this.#displayedState.status !== '' && this.#displayedState.status !== run.status;
    this.#displayedState = { ...this.#displayedState, signature, status: run.status, completedAt: run.completed_at };
    const duration = isFinal(run.status) ? between(run.started_at, run.completed_at) : undefined;
    fill(
      this.#facts,
      statusMark(run.status),
      el('span', {}, run.started_at ? 'started ' : 'created ', moment(run.started_at ?? run.created_at)),
      duration === undefined ? null : el('span', {}, `took ${duration}`),
      this.#cost === '' ? null : el('span', {}, `cost ${this.#cost}`),
      el('code', {}, run.id),
    );
    this.#stop.show(!isFinal(run.status));
    if (hasChanged && isFinal(run.status)) announce(`The run has ended: ${statusMark(run.status).textContent}`);
  }

  /** @param {Run} run @param {HumanRequest | null} request @param {AbortSignal} signal */
  async #showTimeline(run, request, signal) {
    const quiet = this.#offset === undefined;
    const messages = await this.#newMessages(signal);
    this.#timeline.append(messages, { quiet });
    this.#timeline.keepEnd(() => {
      this.#showRequest(run, request);
      this.#activity.hidden = isFinal(run.status) || run.status === 'waiting';
      this.#showEnding(run);
      const isWriting = this.#box.element.contains(document.activeElement);
      this.#box.show(run, request !== null);
      if (isWriting && this.#box.element.hidden) this.#place.focus({ preventScroll: true });
    });
    if (quiet && !isFinal(run.status)) scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' });
  }

  /** @param {AbortSignal} signal */
  async #newMessages(signal) {
    const path = `/v2/runs/${encodeURIComponent(this.#id)}/messages`;
    let offset = this.#offset;
    if (offset === undefined) {
      /** @type {{ total: number }} */
      const { total } = await this.#app.session.api.get(path, { limit: 1 }, signal);
      offset = Math.max(0, total - initialMessages);
      this.#firstOffset = offset;
      this.#timeline.setEarlier(offset);
    }
    /** @type {RunMessage[]} */
    const all = [];
    for (;;) {
      /** @type {{ messages: RunMessage[], total: number }} */
      const page = await this.#app.session.api.get(path, { limit: pageSize, offset }, signal);
      all.push(...page.messages);
      // If there are fewer messages than before, some are read again. That does no harm, because their IDs show which are new.
      offset = page.total < offset ? Math.max(0, page.total - pageSize) : offset + page.messages.length;
      // A page can be shorter than its limit if its messages are large.
      if (page.messages.length === 0 || offset >= page.total) break;
    }
    // Only now: if a page cannot be read, those before it are read again.
    this.#offset = offset;
    return all;
  }

  async #loadEarlier() {
    if (this.#isLoadingEarlier) return;
    this.#isLoadingEarlier = true;
    const limit = Math.min(100, this.#firstOffset);
    try {
      /** @type {RunMessage[]} */
      const all = [];
      for (let offset = this.#firstOffset - limit; offset < this.#firstOffset; ) {
        /** @type {{ messages: RunMessage[] }} */
        const page = await this.#app.session.api.get(`/v2/runs/${encodeURIComponent(this.#id)}/messages`, {
          offset,
          limit: Math.min(pageSize, this.#firstOffset - offset),
        });
        if (page.messages.length === 0) break;
        all.push(...page.messages);
        offset += page.messages.length;
      }
      this.#firstOffset -= limit;
      this.#timeline.prepend(all);
      this.#timeline.setEarlier(this.#firstOffset);
    } catch {
      // The banner shows the problem, and the button stays.
      this.#app.wake();
    } finally {
      this.#isLoadingEarlier = false;
    }
  }

  /** @param {Run} run @param {HumanRequest | null} request */
  #showRequest(run, request) {
    if (this.#card?.isSending) return;
    if (this.#card !== undefined && this.#card.id !== request?.id) {
      if (this.#card.isOpen) {
        if (isFinal(run.status) && run.status !== 'completed')
          this.#card.settle(undefined, run.status === 'interrupted' ? 'The run was stopped.' : 'The run has ended.');
        else this.#card.settle(this.#timeline.hasMessageSince(this.#card.askedAt));
      } else if (this.#card.wasSentHere) {
        // The timeline contains it now.
        this.#remove(this.#card);
        this.#card = undefined;
      }
    }
    if (request === null || this.#card?.id === request.id) return;
    // Unsent text for the previous request stays visible.
    if (this.#card !== undefined && !this.#card.hasUnsent) this.#remove(this.#card);
    this.#card = new RequestCard(this.#app, this.#id, request);
    this.#place.append(this.#card.element);
    announce(`The run asks: ${request.title}`);
  }

  /** @param {RequestCard} card */
  #remove({ element }) {
    const hadFocus = element.contains(document.activeElement);
    element.remove();
    if (hadFocus) this.#place.focus({ preventScroll: true });
  }

  /** @param {Run} run */
  #showEnding(run) {
    this.#endNote.hidden = !isFinal(run.status);
    if (this.#endNote.hidden) return;
    const text =
      run.status === 'failed'
        ? proseText(run.error ?? 'The run failed without a reason.')
        : run.status === 'interrupted'
          ? 'The run was stopped. A message continues it.'
          : '';
    if (this.#endNote.dataset.text === text) return;
    this.#endNote.dataset.text = text;
    fill(this.#endNote, statusMark(run.status), el('span', { class: 'prose', dir: 'auto' }, text));
  }

  /** @param {ApiError} error */
  #showMissing(error) {
    fillKeepingFocus(
      this.element,
      el('a', { class: 'up', href: '#/' }, icon('back'), 'Runs'),
      el(
        'div',
        { class: 'empty' },
        el('h1', { tabindex: -1 }, 'This run was not found'),
        el('p', {}, error.status === 404 ? 'It belongs to another team, or the address is incomplete.' : proseText(error.message)),
      ),
    );
  }
}

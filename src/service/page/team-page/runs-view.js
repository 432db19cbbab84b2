/** The runs of the team, newest first. */
import { announce, el, fill, reconcile, setText } from './dom.js';
import { between, countText, isFinal, moment, nameText, statusMark } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').RunListItem} RunListItem */

const pageSize = 25;
/** The largest page that the service returns. */
const maxPageSize = 100;

const filters = [
  ['', 'All runs'],
  ['needs_attention', 'Needs attention'],
  ['waiting', 'Waiting for a person'],
  ['running', 'Running'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['interrupted', 'Stopped'],
];

/** The filter, which is kept while other views are open. */
const query = { status: '', search: '', count: pageSize };

/** @implements {View} */
export class RunsView {
  #app;
  #list = el('ul', { class: 'runs', 'aria-label': 'Runs' });
  #empty = el('div', { class: 'empty', hidden: true });
  #count = el('p', { class: 'quiet' });
  #moreButton = el('button', { type: 'button', class: 'plain', hidden: true }, 'Show more');
  /** @type {Map<string, ReturnType<typeof runRow>>} */
  #rows = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typingTimer;

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    const status = el(
      'select',
      { id: 'filter', change: () => this.#ask({ status: status.value }) },
      ...filters.map(([value, label]) => el('option', { value }, label)),
    );
    status.value = query.status;
    const search = el('input', { id: 'search', type: 'search', placeholder: 'Search', autocomplete: 'off' });
    search.value = query.search;
    search.addEventListener('input', () => {
      clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#ask({ search: search.value }), 250);
    });
    this.#moreButton.addEventListener('click', () => {
      query.count += pageSize;
      app.wake();
    });
    this.element = el(
      'section',
      { class: 'page narrow' },
      el(
        'div',
        { class: 'head' },
        el('h1', { tabindex: -1 }, 'Runs'),
        el(
          'div',
          { class: 'tools', role: 'search' },
          el('label', { class: 'hidden', for: 'filter' }, 'Show'),
          status,
          el('label', { class: 'hidden', for: 'search' }, 'Search runs'),
          search,
        ),
        app.session.hasScope('runs:write') ? el('a', { class: 'button primary', href: '#/start' }, 'Start a run') : null,
      ),
      this.#list,
      this.#empty,
      el('div', { class: 'foot' }, this.#count, this.#moreButton),
    );
  }

  title = () => 'Runs';

  close() {
    clearTimeout(this.#typingTimer);
  }

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    /** @type {RunListItem[]} */
    const runs = [];
    let total = 0;
    const { status, search, count } = query;
    for (let offset = 0; offset < count && (offset === 0 || offset < total); ) {
      /** @type {{ data: RunListItem[], total: number }} */
      const page = await this.#app.session.api.get(
        `/v2/teams/${this.#app.session.teamId}/runs`,
        { status, search, offset, limit: Math.min(maxPageSize, count - offset) },
        signal,
      );
      runs.push(...page.data);
      total = page.total;
      if (page.data.length === 0) break;
      offset += page.data.length;
    }
    // Rows that move while pages are read can appear twice.
    const unique = [...new Map(runs.map((run) => [run.id, run])).values()];
    reconcile(this.#list, this.#rows, unique, (run) => run.id, runRow);
    this.#list.hidden = total === 0;
    this.#empty.hidden = total > 0;
    if (total === 0 && this.#empty.dataset.for !== `${status} ${search}`) this.#showEmpty(status, search);
    setText(
      this.#count,
      total === 0 ? '' : unique.length < total ? `${unique.length} of ${countText(total, 'run')}` : countText(total, 'run'),
    );
    this.#moreButton.hidden = unique.length >= total;
    return unique.some((run) => !isFinal(run.status) && run.status !== 'waiting') ? 2_000 : 4_000;
  }

  /** @param {string} status @param {string} search */
  #showEmpty(status, search) {
    this.#empty.dataset.for = `${status} ${search}`;
    if (status !== '' || search !== '') {
      fill(this.#empty, el('h2', {}, 'No matching runs'), el('p', {}, 'Choose another filter, or search for something else.'));
      announce('No matching runs.');
      return;
    }
    fill(
      this.#empty,
      el('h2', {}, 'No runs yet'),
      el('p', {}, 'Start one in a terminal, and it appears here:'),
      el('pre', {}, 'aops runs start --agent AGENT --message "…"'),
    );
  }

  /** @param {Partial<typeof query>} change */
  #ask(change) {
    Object.assign(query, { count: pageSize, ...change });
    this.#app.wake();
  }
}

/** @param {RunListItem} first */
function runRow(first) {
  const title = el('span', { class: 'title', dir: 'auto' });
  const agent = el('bdi', { class: 'agent' });
  const number = el('span', {}, `#${first.run_number}`);
  const state = el('span', { class: 'state' });
  const when = el('span', { class: 'when' });
  const element = el(
    'li',
    {},
    el(
      'a',
      { href: `#/runs/${first.id}`, class: 'run' },
      state,
      el('span', { class: 'what' }, title, el('span', { class: 'by' }, agent, number, when)),
    ),
  );
  let latestSignature = '';
  /** @param {RunListItem} run */
  const update = (run) => {
    const signature = `${run.status} ${run.started_at} ${run.completed_at} ${run.title} ${run.agent_name} ${run.pending_human_request?.id}`;
    if (signature === latestSignature) return;
    latestSignature = signature;
    setText(title, nameText(run.pending_human_request?.title ?? run.title));
    setText(agent, nameText(run.agent_name));
    // A run without a title is named after its agent and number, which do not have to be repeated.
    number.hidden = title.textContent === nameText(`${run.agent_name} #${run.run_number}`);
    agent.hidden = number.hidden;
    fill(state, statusMark(run.status));
    const duration = isFinal(run.status) ? between(run.started_at, run.completed_at) : undefined;
    fill(when, moment(run.created_at), duration === undefined ? null : ` · took ${duration}`);
  };
  update(first);
  return { element, update };
}

/** The runs of the team, newest first. */
import { announce, el, fill, reconcile, setText } from './dom.js';
import { FilterChips, Filters, namedFilterWords, selectValue, timeWords, unlessRefused } from './filters.js';
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

/** The filters, which are kept while other views are open, and the number of runs to read. */
const kept = { values: new URLSearchParams(), count: pageSize };

/** @param {string} value */
const plainWords = (value) => value;

/** The filters without a field. @param {import('./types.d.ts').Session} session @returns {import('./filters.js').FilterWords} */
function chipWords(session) {
  const { agent = plainWords, queue = plainWords } = namedFilterWords(session);
  return {
    agent,
    queue,
    since: timeWords('Created since'),
    until: timeWords('Created before'),
    source: (value) => `Source: ${value}`,
    user: (value) => `Started by the user ${value}`,
    digest: (value) => `Digest: ${value}`,
    issues: (value) => (value === 'false' ? 'Without issues' : 'With issues'),
    severity: (value) => `With ${value} issues`,
    order: (value) => (value === 'asc' ? 'Oldest first' : 'Newest first'),
  };
}

/** @implements {View} */
export class RunsView {
  #app;
  #filters = new Filters(kept.values);
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
    if (this.#filters.values !== kept.values) Object.assign(kept, { values: this.#filters.values, count: pageSize });
    const status = el(
      'select',
      { id: 'filter', change: () => this.#filterBy('status', status.value) },
      ...filters.map(([value, label]) => el('option', { value }, label)),
    );
    selectValue(status, this.#filters.get('status'));
    const search = el('input', { id: 'search', type: 'search', placeholder: 'Search', autocomplete: 'off' });
    search.value = this.#filters.get('search');
    search.addEventListener('input', () => {
      clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#filterBy('search', search.value), 250);
    });
    this.#moreButton.addEventListener('click', () => {
      kept.count += pageSize;
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
      new FilterChips(this.#filters, chipWords(app.session), ['status', 'search'], () => this.#onFilter()).element,
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
  refresh(signal) {
    return unlessRefused(
      this.#filters,
      this.#empty,
      () => this.#read(signal),
      () => this.#show([], 0),
    );
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    /** @type {RunListItem[]} */
    const runs = [];
    let total = 0;
    const { count } = kept;
    const filters = this.#query();
    for (let offset = 0; offset < count && (offset === 0 || offset < total); ) {
      /** @type {{ data: RunListItem[], total: number }} */
      const page = await this.#app.session.api.get(
        `/v2/teams/${this.#app.session.teamId}/runs`,
        { ...filters, offset, limit: Math.min(maxPageSize, count - offset) },
        signal,
      );
      runs.push(...page.data);
      total = page.total;
      if (page.data.length === 0) break;
      offset += page.data.length;
    }
    // Rows that move while pages are read can appear twice.
    const unique = [...new Map(runs.map((run) => [run.id, run])).values()];
    this.#show(unique, total);
    if (total === 0) this.#showEmpty();
    return unique.some((run) => !isFinal(run.status) && run.status !== 'waiting') ? 2_000 : 4_000;
  }

  /** The filters of the address in the form of the interface. */
  #query() {
    const filter = (/** @type {string} */ name) => this.#filters.get(name);
    return {
      status: filter('status'),
      search: filter('search'),
      agent_id: filter('agent'),
      case_queue_id: filter('queue'),
      since: filter('since'),
      until: filter('until'),
      source: filter('source'),
      user_id: filter('user'),
      digest_id: filter('digest'),
      has_issues: filter('issues'),
      issue_severity: filter('severity'),
      sort_by: filter('order') === '' ? '' : 'created_at',
      sort_order: filter('order'),
    };
  }

  /** @param {readonly RunListItem[]} runs @param {number} total */
  #show(runs, total) {
    reconcile(this.#list, this.#rows, runs, (run) => run.id, runRow);
    this.#list.hidden = total === 0;
    this.#empty.hidden = total > 0;
    setText(this.#count, total === 0 ? '' : runs.length < total ? `${runs.length} of ${countText(total, 'run')}` : countText(total, 'run'));
    this.#moreButton.hidden = runs.length >= total;
  }

  #showEmpty() {
    if (this.#empty.dataset.for === this.#filters.signature) return;
    this.#empty.dataset.for = this.#filters.signature;
    if (!this.#filters.isEmpty) {
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

  /** @param {string} name @param {string} value */
  #filterBy(name, value) {
    this.#filters.set(name, value);
    this.#onFilter();
  }

  #onFilter() {
    kept.count = pageSize;
    this.#app.restart();
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

/** One queue: its cases, with a filter and a search. */
import { announce, el, fill, icon, reconcile, setText } from './dom.js';
import { FilterChips, Filters, selectValue, timeWords, unlessRefused } from './filters.js';
import { listRow } from './list-view.js';
import { missingIf } from './missing.js';
import { caseMark, countText, moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').Case} Case */

const pageSize = 50;
/** The largest page that the service returns. */
const maxPageSize = 100;

const filters = [
  ['', 'All cases'],
  ['needs_input', 'Waiting for you'],
  ['claimed', 'In progress'],
  ['pending', 'Pending'],
  ['postponed', 'Postponed'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
];

/** @implements {View} */
export class QueueView {
  #app;
  #id;
  #filters = new Filters();
  #maxShown = pageSize;
  #name = el('h1', { tabindex: -1 }, 'Queue');
  #description = el('p', { class: 'quiet prose', dir: 'auto', hidden: true });
  #list = el('ul', { class: 'runs', 'aria-label': 'Cases', hidden: true });
  #empty = el('div', { class: 'empty', hidden: true });
  #count = el('p', { class: 'quiet' });
  #moreButton = el('button', { type: 'button', class: 'plain', hidden: true }, 'Show more');
  /** @type {Map<string, ReturnType<typeof caseRow>>} */
  #rows = new Map();
  #title = 'Queue';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typingTimer;

  /** @param {import('./types.d.ts').App} app @param {string} id */
  constructor(app, id) {
    this.#app = app;
    this.#id = id;
    const status = el(
      'select',
      { id: 'case-filter', change: () => this.#filterBy('status', status.value) },
      ...filters.map(([value, label]) => el('option', { value }, label)),
    );
    selectValue(status, this.#filters.get('status'), this.#filters.get('status').split(',').map(statusText).join(', '));
    const search = el('input', { id: 'case-search', type: 'search', placeholder: 'Search', autocomplete: 'off' });
    search.value = this.#filters.get('search');
    search.addEventListener('input', () => {
      clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#filterBy('search', search.value), 250);
    });
    this.#moreButton.addEventListener('click', () => {
      this.#maxShown += pageSize;
      app.wake();
    });
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('a', { class: 'up', href: '#/queues' }, icon('back'), 'Queues'),
      el(
        'div',
        { class: 'head' },
        this.#name,
        el(
          'div',
          { class: 'tools', role: 'search' },
          el('label', { class: 'hidden', for: 'case-filter' }, 'Show'),
          status,
          el('label', { class: 'hidden', for: 'case-search' }, 'Search cases'),
          search,
        ),
      ),
      this.#description,
      new FilterChips(this.#filters, chipWords, ['status', 'search'], () => this.#onFilter()).element,
      this.#list,
      this.#empty,
      el('div', { class: 'foot' }, this.#count, this.#moreButton),
    );
  }

  title = () => this.#title;

  close() {
    clearTimeout(this.#typingTimer);
  }

  /** @param {AbortSignal} signal */
  refresh(signal) {
    return missingIf(this.element, { what: 'queue', href: '#/queues', list: 'Queues' }, () => this.#read(signal));
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    const { api } = this.#app.session;
    const path = `/v2/queues/${encodeURIComponent(this.#id)}`;
    /** @type {{ queue: import('./types.d.ts').Queue }} */
    const { queue } = await api.get(path, {}, signal);
    this.#title = nameText(queue.name);
    setText(this.#name, this.#title);
    this.#description.hidden = !queue.description;
    setText(this.#description, nameText(queue.description ?? ''));
    return unlessRefused(
      this.#filters,
      this.#empty,
      () => this.#readAllCases(path, signal),
      () => this.#show([], 0),
    );
  }

  /** @param {string} path @param {AbortSignal} signal */
  async #readAllCases(path, signal) {
    /** @type {Map<string, Case>} */
    const cases = new Map();
    let total = 0;
    const count = this.#maxShown;
    for (let offset = 0; offset < count && (offset === 0 || offset < total); ) {
      const limit = Math.min(maxPageSize, count - offset);
      const page = await this.#readCases(path, { offset, limit }, signal);
      for (const item of page.cases) cases.set(item.id, item);
      total = page.total;
      if (page.cases.length === 0) break;
      offset += page.cases.length;
    }
    this.#show([...cases.values()], total);
    if (total === 0) this.#showEmpty();
    return 5_000;
  }

  /** @param {readonly Case[]} cases @param {number} total */
  #show(cases, total) {
    reconcile(this.#list, this.#rows, cases, ({ id }) => id, caseRow);
    this.#list.hidden = cases.length === 0;
    this.#empty.hidden = cases.length > 0;
    setText(
      this.#count,
      total === 0 ? '' : cases.length < total ? `${cases.length} of ${countText(total, 'case')}` : countText(total, 'case'),
    );
    this.#moreButton.hidden = cases.length >= total;
  }

  #showEmpty() {
    const { signature, isEmpty } = this.#filters;
    if (this.#empty.dataset.for === signature) return;
    this.#empty.dataset.for = signature;
    const isFiltered = !isEmpty;
    fill(
      this.#empty,
      el('h2', {}, isFiltered ? 'No matching cases' : 'No cases yet'),
      isFiltered
        ? el('p', {}, 'Choose another filter, or search for something else.')
        : el('pre', {}, `aops cases create ${this.#id} "TITLE"`),
    );
    if (isFiltered) announce('No matching cases.');
  }

  /**
   * One page of the cases that match the filters. Only the search of the interface filters by labels.
   * @param {string} path @param {{ offset: number, limit: number }} range @param {AbortSignal} signal
   * @returns {Promise<{ cases: Case[], total: number }>}
   */
  async #readCases(path, range, signal) {
    const { api } = this.#app.session;
    const filter = (/** @type {string} */ name) => this.#filters.get(name);
    const times = { created_at_from: filter('since'), updated_at_from: filter('updated-since') };
    const sorting = { sort_by: filter('sort') || 'updated_at', sort_order: filter('order') || undefined };
    const labels = this.#filters.all('label');
    const [status, priority] = [filter('status'), filter('priority')];
    if (labels.length === 0)
      return api.get(`${path}/cases`, { ...range, ...times, ...sorting, status, priority, search: filter('search') }, signal);
    const filters = { ...times, status: listOf(status), priority: listOf(priority), labels: labelFilter(labels) };
    return api.change('POST', `${path}/cases/search`, {
      ...range,
      ...sorting,
      search: filter('search') || undefined,
      filters: Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '' && value !== undefined)),
    });
  }

  /** @param {string} name @param {string} value */
  #filterBy(name, value) {
    this.#filters.set(name, value);
    this.#onFilter();
  }

  #onFilter() {
    this.#maxShown = pageSize;
    this.#app.restart();
  }
}

/** @param {string} words */
const listOf = (words) => (words === '' ? undefined : words.split(','));

/** Labels such as `vendor=acme` by key; a label without a key has an empty one. @param {readonly string[]} labels */
function labelFilter(labels) {
  /** @type {Map<string, string[]>} */
  const values = new Map();
  for (const label of labels) {
    const separator = label.indexOf('=');
    const key = separator < 0 ? '' : label.slice(0, separator);
    values.set(key, [...(values.get(key) ?? []), label.slice(separator + 1)]);
  }
  return Object.fromEntries(values);
}

/** @param {string} status */
const statusText = (status) => filters.find(([value]) => value === status)?.[1] ?? status;

/** The filters without a field. @type {import('./filters.js').FilterWords} */
const chipWords = {
  priority: (value) => `Priority: ${value.replaceAll(',', ', ')}`,
  label: (value) => `Label: ${value}`,
  since: timeWords('Created since'),
  'updated-since': timeWords('Updated since'),
  sort: (value) => `Sorted by ${value.replaceAll('_', ' ')}`,
  order: (value) => (value === 'asc' ? 'Ascending order' : 'Descending order'),
};

/** @param {Case} first */
const caseRow = (first) =>
  listRow(first, {
    href: ({ id }) => `#/cases/${encodeURIComponent(id)}`,
    text: ({ title }) => nameText(title),
    facts: (item) => [
      caseMark(item.display_status),
      item.priority === 'none' ? null : el('span', {}, `${item.priority} priority`),
      ...item.labels.map((label) => el('bdi', { class: 'tag' }, labelText(label))),
      el('span', {}, 'updated ', moment(item.updated_at)),
    ],
  });

/** @param {{ key: string, value: string }} label */
export const labelText = ({ key, value }) => nameText(key === '' ? value : `${key}: ${value}`);

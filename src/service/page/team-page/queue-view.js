/** One queue: its cases, with a filter and a search. */
import { announce, el, fill, icon, reconcile, setText } from './dom.js';
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
  #query = { status: '', search: '', count: pageSize };
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
      { id: 'case-filter', change: () => this.#ask({ status: status.value }) },
      ...filters.map(([value, label]) => el('option', { value }, label)),
    );
    const search = el('input', { id: 'case-search', type: 'search', placeholder: 'Search', autocomplete: 'off' });
    search.addEventListener('input', () => {
      clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#ask({ search: search.value }), 250);
    });
    this.#moreButton.addEventListener('click', () => {
      this.#query.count += pageSize;
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
    /** @type {Map<string, Case>} */
    const cases = new Map();
    let total = 0;
    const { status, search, count } = this.#query;
    for (let offset = 0; offset < count && (offset === 0 || offset < total); ) {
      const limit = Math.min(maxPageSize, count - offset);
      /** @type {{ cases: Case[], total: number }} */
      const page = await api.get(`${path}/cases`, { status, search, offset, limit, sort_by: 'updated_at' }, signal);
      for (const item of page.cases) cases.set(item.id, item);
      total = page.total;
      if (page.cases.length === 0) break;
      offset += page.cases.length;
    }
    this.#show([...cases.values()], total);
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
    const { status, search } = this.#query;
    if (total > 0 || this.#empty.dataset.for === `${status} ${search}`) return;
    this.#empty.dataset.for = `${status} ${search}`;
    const isFiltered = status !== '' || search !== '';
    fill(
      this.#empty,
      el('h2', {}, isFiltered ? 'No matching cases' : 'No cases yet'),
      isFiltered
        ? el('p', {}, 'Choose another filter, or search for something else.')
        : el('pre', {}, `aops cases create ${this.#id} "TITLE"`),
    );
    if (isFiltered) announce('No matching cases.');
  }

  /** @param {{ status?: string, search?: string }} change */
  #ask(change) {
    this.#query = { ...this.#query, count: pageSize, ...change };
    this.#app.wake();
  }
}

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

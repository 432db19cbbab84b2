/** A live board: what waits, what works, what is queued, and what ended recently, with how long each has been so. */
import { announce, el, fill, reconcile, setText } from './dom.js';
import { FilterChips, Filters, namedFilterWords, selectValue } from './filters.js';
import { listAll } from './paging.js';
import { countText, isFinal, moment, nameText, since, statusMark } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').RunListItem} RunListItem */

const pageSize = 50;
const outcomes = new Set(['completed', 'failed', 'interrupted']);

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} label
 * @property {string} empty
 * @property {(run: RunListItem) => boolean} has
 * @property {(run: RunListItem) => string} from since when a run has been in the column (ISO 8601)
 * @property {string | undefined} word what it has been doing since then; undefined for what has ended
 * @property {boolean} isOldestFirst
 */

/** @type {readonly Column[]} */
const columns = [
  {
    id: 'waiting',
    label: 'Waiting for you',
    empty: 'Nothing waits for you.',
    has: ({ status }) => status === 'waiting',
    from: (run) => run.pending_human_request?.created_at ?? run.created_at ?? '',
    word: 'waiting',
    isOldestFirst: true,
  },
  {
    id: 'working',
    label: 'Working',
    empty: 'No run is working.',
    has: ({ status }) => status === 'running' || status === 'starting',
    from: (run) => run.started_at ?? run.created_at ?? '',
    word: 'running',
    isOldestFirst: false,
  },
  {
    id: 'queued',
    label: 'Queued',
    empty: 'No run is queued.',
    has: ({ status }) => status === 'pending' || status === 'not_started',
    from: (run) => run.created_at ?? '',
    word: 'queued',
    isOldestFirst: true,
  },
  {
    id: 'ended',
    label: 'Ended recently',
    empty: 'No run has ended yet.',
    has: ({ status }) => isFinal(status),
    from: (run) => run.completed_at ?? run.created_at ?? '',
    word: undefined,
    isOldestFirst: false,
  },
];

/** The filters, which stay while other views are open. */
const kept = { values: new URLSearchParams() };

/** @implements {View} */
export class BoardView {
  #app;
  #filters = new Filters(kept.values);
  #agentField = el('select', { id: 'board-agent', change: () => this.#filterBy('agent', this.#agentField.value) });
  #outcomeField = el(
    'select',
    { id: 'board-outcome', change: () => this.#filterBy('outcome', this.#outcomeField.value) },
    el('option', { value: '' }, 'Any outcome'),
    el('option', { value: 'completed' }, 'Completed'),
    el('option', { value: 'failed' }, 'Failed'),
    el('option', { value: 'interrupted' }, 'Stopped'),
  );
  #areAgentsLoaded = false;
  /** The requests that were waiting at the last read; undefined before the first one. @type {Set<string> | undefined} */
  #knownRequests;
  #columns = columns.map((column) => boardColumn(column));

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    fill(this.#agentField, el('option', { value: '' }, 'All agents'));
    kept.values = this.#filters.values;
    const { queue = () => '' } = namedFilterWords(app.session);
    this.#outcomeField.value = this.#filters.get('outcome');
    this.element = el(
      'section',
      { class: 'page' },
      el(
        'div',
        { class: 'head' },
        el('h1', { tabindex: -1 }, 'Board'),
        el(
          'div',
          { class: 'tools wide', role: 'search' },
          el('label', { class: 'hidden', for: 'board-agent' }, 'Agent'),
          this.#agentField,
          el('label', { class: 'hidden', for: 'board-outcome' }, 'Outcome of ended runs'),
          this.#outcomeField,
        ),
      ),
      new FilterChips(this.#filters, { queue }, ['agent', 'outcome'], () => this.#onFilter()).element,
      el('div', { class: 'board' }, ...this.#columns.map(({ element }) => element)),
    );
  }

  title = () => 'Board';

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const { api, teamId } = this.#app.session;
    if (!this.#areAgentsLoaded) await this.#loadAgents(signal);
    const path = `/v2/teams/${encodeURIComponent(teamId)}/runs`;
    const filters = { agent_id: this.#filters.get('agent'), case_queue_id: this.#filters.get('queue') };
    /** @type {(filter: Record<string, string | number | undefined>) => Promise<{ data: RunListItem[], total: number }>} */
    const read = (filter) => api.get(path, { ...filters, limit: pageSize, ...filter }, signal);
    const pages = await Promise.all([
      read({ status: 'waiting', sort_order: 'asc' }),
      read({ status: 'running' }),
      read({ status: 'pending', sort_order: 'asc' }),
      read({ status: outcomes.has(this.#filters.get('outcome')) ? this.#filters.get('outcome') : undefined }),
    ]);
    // A run that changed between two reads counts as in the later one.
    const runs = [...new Map(pages.flatMap(({ data }) => data).map((run) => [run.id, run])).values()];
    this.#announceRequests(pages[0]?.data ?? []);
    const totals = [pages[0]?.total, pages[1]?.total, pages[2]?.total];
    for (const [index, column] of this.#columns.entries()) column.show(runs, totals[index]);
    return runs.some(({ status }) => !isFinal(status) && status !== 'waiting') ? 2_000 : 4_000;
  }

  /** @param {readonly RunListItem[]} waiting */
  #announceRequests(waiting) {
    const requests = waiting.map((run) => run.pending_human_request).filter((request) => request !== null);
    const newRequests = requests.filter(({ id }) => this.#knownRequests?.has(id) === false);
    for (const { title } of newRequests) announce(`A run asks: ${title}`);
    this.#knownRequests = new Set(requests.map(({ id }) => id));
  }

  /** @param {AbortSignal} signal */
  async #loadAgents(signal) {
    const { api, teamId } = this.#app.session;
    /** @type {readonly import('./types.d.ts').AgentListItem[]} */
    const agents = await listAll(api, `/v2/teams/${encodeURIComponent(teamId)}/agents`, 'agents', signal);
    const sorted = agents.toSorted((a, b) => a.name.localeCompare(b.name));
    this.#agentField.append(...sorted.map(({ id, name }) => el('option', { value: id }, nameText(name))));
    selectValue(this.#agentField, this.#filters.get('agent'), 'An agent that was not found');
    this.#areAgentsLoaded = true;
  }

  /** @param {string} name @param {string} value */
  #filterBy(name, value) {
    this.#filters.set(name, value);
    this.#onFilter();
  }

  #onFilter() {
    // Requests that another filter shows are not new.
    this.#knownRequests = undefined;
    this.#app.restart();
  }
}

/** @param {Column} column */
function boardColumn(column) {
  const count = el('span', { class: 'number' });
  const list = el('ul', { class: 'stack', 'aria-labelledby': `board-${column.id}` });
  const empty = el('p', { class: 'quiet' }, column.empty);
  const more = el('p', { class: 'quiet', hidden: true });
  /** @type {Map<string, ReturnType<typeof boardCard>>} */
  const rows = new Map();
  return {
    element: el(
      'section',
      { class: `column ${column.id}`, 'aria-labelledby': `board-${column.id}` },
      el('h2', { id: `board-${column.id}` }, column.label, ' ', count),
      empty,
      list,
      more,
    ),
    /** @param {readonly RunListItem[]} runs @param {number | undefined} total the number of runs, if more exist than were read */
    show(runs, total) {
      const own = runs.filter(column.has).toSorted((a, b) => column.from(a).localeCompare(column.from(b)));
      const shown = column.isOldestFirst ? own : own.toReversed();
      reconcile(
        list,
        rows,
        shown,
        ({ id }) => id,
        (run) => boardCard(run, column),
      );
      const all = Math.max(total ?? 0, shown.length);
      setText(count, total === undefined ? '' : String(all));
      empty.hidden = shown.length > 0;
      more.hidden = total === undefined || all <= shown.length;
      setText(more, `${countText(all - shown.length, 'more run')}`);
    },
  };
}

/** @param {RunListItem} first @param {Column} column */
function boardCard(first, column) {
  const title = el('span', { class: 'title', dir: 'auto' });
  const state = el('span', { class: 'state' });
  const time = el('span', {});
  const element = el(
    'li',
    {},
    el(
      'a',
      { href: `#/runs/${first.id}`, class: 'tile' },
      title,
      el('span', { class: 'by' }, state, el('bdi', {}, nameText(first.agent_name)), el('span', {}, `#${first.run_number}`), time),
    ),
  );
  let latestSignature = '';
  /** @param {RunListItem} run */
  const update = (run) => {
    const signature = `${run.status} ${run.title} ${run.pending_human_request?.id} ${column.from(run)}`;
    if (signature === latestSignature) return;
    latestSignature = signature;
    setText(title, nameText(run.pending_human_request?.title ?? run.title));
    fill(state, column.id === 'ended' ? statusMark(run.status) : null);
    fill(time, column.word === undefined ? moment(column.from(run)) : since(column.word, column.from(run)));
  };
  update(first);
  return { element, update };
}

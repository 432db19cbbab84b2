/** One case: its data, the runs that worked on it, and its history. */
import { el, fill, icon, setText } from './dom.js';
import { missingIf } from './missing.js';
import { labelText } from './queue-view.js';
import { caseMark, isFinal, json, moment, nameText, proseText, statusMark } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').Case} Case */
/** @typedef {import('./types.d.ts').CaseRun} CaseRun */
/** @typedef {import('./types.d.ts').CaseEvent} CaseEvent */

/** @implements {View} */
export class CaseView {
  #app;
  #id;
  #up = el('a', { class: 'up', href: '#/queues' }, icon('back'), 'Queue');
  #name = el('h1', { tabindex: -1 }, 'Case');
  #facts = el('p', { class: 'facts' });
  #place = el('div', { class: 'parts' });
  #title = 'Case';
  #signature = '';

  /** @param {import('./types.d.ts').App} app @param {string} id */
  constructor(app, id) {
    this.#app = app;
    this.#id = id;
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'run-head' }, this.#up, el('div', { class: 'head' }, this.#name), this.#facts),
      this.#place,
    );
  }

  title = () => this.#title;

  /** @param {AbortSignal} signal */
  refresh(signal) {
    return missingIf(this.element, { what: 'case', href: '#/queues', list: 'Queues' }, () => this.#read(signal));
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    const { api } = this.#app.session;
    const path = `/v2/cases/${encodeURIComponent(this.#id)}`;
    /** @type {{ case: Case, events: CaseEvent[] }} */
    const { case: item, events } = await api.get(path, {}, signal);
    /** @type {{ runs: CaseRun[] }} */
    const { runs } = await api.get(`${path}/runs`, {}, signal);
    const signature = JSON.stringify([item, events, runs]);
    // Nothing flickers, and no selection is lost.
    if (signature !== this.#signature) this.#show(item, events, runs);
    this.#signature = signature;
    return item.completed_at === null ? 5_000 : 15_000;
  }

  /** @param {Case} item @param {readonly CaseEvent[]} events @param {readonly CaseRun[]} runs */
  #show(item, events, runs) {
    this.#title = nameText(item.title);
    setText(this.#name, this.#title);
    this.#up.href = `#/queues/${encodeURIComponent(item.queue_id)}`;
    fill(
      this.#facts,
      caseMark(item.display_status),
      item.priority === 'none' ? null : el('span', {}, `${item.priority} priority`),
      el('span', {}, 'created ', moment(item.created_at)),
      item.postponed_to === null ? null : el('span', {}, 'postponed until ', moment(item.postponed_to)),
      ...item.labels.map((label) => el('bdi', { class: 'tag' }, labelText(label))),
      el('code', {}, item.id),
    );
    fill(
      this.#place,
      el('h2', {}, 'Data'),
      item.data === ''
        ? el('p', { class: 'quiet' }, 'This case has no data.')
        : el('pre', { tabindex: 0, 'aria-label': 'Data' }, dataText(item.data)),
      el('h2', { id: 'case-runs' }, 'Runs'),
      runs.length === 0 ? el('p', { class: 'quiet' }, 'No run has worked on this case yet.') : null,
      runs.length === 0 ? null : el('ul', { class: 'runs', 'aria-labelledby': 'case-runs' }, ...runs.map(runRow)),
      el('h2', { id: 'case-history' }, 'History'),
      el('ol', { class: 'history', 'aria-labelledby': 'case-history' }, ...events.map(eventRow)),
    );
  }
}

/** Data that is JSON is indented. @param {string} data */
function dataText(data) {
  try {
    return json(JSON.parse(data));
  } catch {
    return proseText(data);
  }
}

/** @param {CaseRun} run */
const runRow = (run) =>
  el(
    'li',
    {},
    el(
      'a',
      { href: `#/runs/${encodeURIComponent(run.id)}`, class: 'entry' },
      el('span', { class: 'title', dir: 'auto' }, nameText(`${run.agent_name}${run.run_number == null ? '' : ` #${run.run_number}`}`)),
      el(
        'span',
        { class: 'by' },
        statusMark(run.status),
        el(
          'span',
          {},
          ...(isFinal(run.status) ? ['ended ', moment(run.completed_at)] : ['started ', moment(run.started_at ?? run.created_at)]),
        ),
        run.pending_human_request_title === null ? null : el('bdi', {}, nameText(run.pending_human_request_title)),
      ),
    ),
  );

/** @param {CaseEvent} event */
const eventRow = (event) =>
  el(
    'li',
    {},
    el('span', {}, nameText(event.type.slice(0, 1).toUpperCase() + event.type.slice(1).replaceAll('_', ' '))),
    event.agent_name === null ? null : el('span', { class: 'quiet' }, ' by ', el('bdi', {}, nameText(event.agent_name))),
    event.reason === null ? null : el('span', { class: 'quiet', dir: 'auto' }, `: ${nameText(event.reason)}`),
    el('span', { class: 'quiet' }, ' · ', moment(event.created_at)),
  );

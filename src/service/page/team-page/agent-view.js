/** One agent: its revisions, and what each of them changed. */
import { diffBlock } from './diff.js';
import { el, fill, icon, reconcile, setText } from './dom.js';
import { filtersIn } from './filters.js';
import { unifiedDiff } from './line-diff.js';
import { missingIf } from './missing.js';
import { listAll } from './paging.js';
import { procedureText } from './procedure-text.js';
import { countText, moment, nameText, proseText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').Build} Build */

/** @implements {View} */
export class AgentView {
  #app;
  #id;
  #revisionId;
  /** The revision to compare with; empty for the one before. */
  #comparedId = filtersIn(location.hash).get('compare') ?? '';
  #name = el('h1', { tabindex: -1 }, 'Agent');
  #facts = el('p', { class: 'facts' });
  #list = el('ul', { class: 'runs', 'aria-label': 'Revisions' });
  #place = el('div', { class: 'revision' });
  /** @type {Map<string, ReturnType<typeof revisionRow>>} */
  #rows = new Map();
  #title = 'Agent';
  #shownSignature = '';

  /** @param {import('./types.d.ts').App} app @param {string} id @param {string} revisionId the revision to show; empty for the live one */
  constructor(app, id, revisionId) {
    this.#app = app;
    this.#id = id;
    this.#revisionId = revisionId;
    const start = app.session.hasScope('runs:write')
      ? el('a', { class: 'button primary', href: `#/start/${encodeURIComponent(id)}` }, 'Start a run')
      : null;
    this.element = el(
      'section',
      { class: 'page' },
      el(
        'div',
        { class: 'run-head' },
        el('a', { class: 'up', href: '#/agents' }, icon('back'), 'Agents'),
        el('div', { class: 'head' }, this.#name, start),
        this.#facts,
      ),
      el('div', { class: 'split' }, el('div', {}, el('h2', { class: 'list-title' }, 'Revisions'), this.#list), this.#place),
    );
  }

  title = () => this.#title;

  /** @param {AbortSignal} signal */
  refresh(signal) {
    return missingIf(this.element, { what: 'agent', href: '#/agents', list: 'Agents' }, () => this.#read(signal));
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    const { api } = this.#app.session;
    const path = `/v2/agents/${encodeURIComponent(this.#id)}`;
    /** @type {{ agent: { name: string, created_at: string | null } }} */
    const { agent } = await api.get(path, {}, signal);
    /** @type {readonly Build[]} */
    const builds = await listAll(api, `${path}/revisions`, 'builds', signal);
    this.#title = nameText(agent.name);
    if (this.#name.textContent !== this.#title) fill(this.#name, el('bdi', {}, this.#title));
    if (this.#facts.childElementCount === 0)
      fill(this.#facts, el('span', {}, 'created ', moment(agent.created_at)), el('code', {}, this.#id));
    this.#showRevisions(builds);
    return 15_000;
  }

  /** @param {readonly Build[]} builds */
  #showRevisions(builds) {
    const sorted = builds.toSorted((a, b) => (b.revision_number ?? 0) - (a.revision_number ?? 0));
    const shown = sorted.find(({ id }) => id === this.#revisionId) ?? sorted.find(({ status }) => status === 'live') ?? sorted[0];
    reconcile(
      this.#list,
      this.#rows,
      sorted,
      ({ id }) => id,
      (build) => revisionRow(build, this.#id),
    );
    for (const [id, { link }] of this.#rows) {
      if (id === shown?.id) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    if (shown === undefined) return fill(this.#place, el('p', { class: 'empty' }, 'This agent has no revisions yet.'));
    const parent =
      builds.find(({ id }) => id === this.#comparedId) ??
      builds.find(({ id }) => id === shown.parent_build_id) ??
      sorted[sorted.indexOf(shown) + 1];
    const isMissing = this.#comparedId !== '' && parent?.id !== this.#comparedId;
    const signature = JSON.stringify([shown, parent]);
    // Nothing flickers, and no selection is lost.
    if (signature === this.#shownSignature) return;
    this.#shownSignature = signature;
    fill(
      this.#place,
      isMissing ? el('p', { class: 'problem' }, 'The revision to compare with was not found.') : null,
      ...revisionParts(shown, parent),
    );
  }
}

/** @param {Build} build */
const titleOf = (build) => `Revision ${build.revision_number ?? '–'}`;

/** @param {Build} build @param {Build | undefined} parent */
function revisionParts(build, parent) {
  const text = procedureText(build.config);
  const diff = parent === undefined ? undefined : unifiedDiff(procedureText(parent.config), text);
  const changes = (diff ?? '').split('\n');
  const added = changes.filter((line) => line.startsWith('+')).length;
  const removed = changes.filter((line) => line.startsWith('-')).length;
  return [
    el('h2', {}, titleOf(build), ' ', el('bdi', { class: 'number' }, nameText(build.revision_name ?? build.name))),
    build.revision_description ? el('p', { class: 'prose', dir: 'auto' }, proseText(build.revision_description)) : null,
    parent === undefined || diff === undefined
      ? el('p', { class: 'quiet' }, 'This is the first revision.')
      : el(
          'div',
          {},
          el(
            'p',
            { class: 'quiet' },
            diff === ''
              ? `The procedure is the same as in ${titleOf(parent).toLowerCase()}.`
              : `Changes since ${titleOf(parent).toLowerCase()}: ${countText(added, 'line')} added, ${countText(removed, 'line')} removed`,
          ),
          diff === '' ? null : diffBlock(diff),
        ),
    el(
      'details',
      { open: diff === undefined || diff === '' },
      el('summary', {}, 'The whole procedure'),
      el('pre', { class: 'content', tabindex: 0, 'aria-label': 'Procedure' }, proseText(text)),
    ),
  ];
}

/** @param {Build} first @param {string} agentId */
function revisionRow(first, agentId) {
  const title = el('span', { class: 'title', dir: 'auto' });
  const facts = el('span', { class: 'by' });
  const link = el('a', { href: `#/agents/${agentId}/revisions/${first.id}`, class: 'entry' }, title, facts);
  /** @param {Build} build */
  const update = (build) => {
    setText(title, `${titleOf(build)}: ${nameText(build.revision_name ?? build.name)}`);
    const signature = `${build.status} ${build.created_at}`;
    if (facts.dataset.for === signature) return;
    facts.dataset.for = signature;
    fill(
      facts,
      build.status === null ? null : el('span', { class: `status ${build.status === 'live' ? 'done' : 'idle'}` }, statusText(build.status)),
      el('span', {}, moment(build.created_at)),
      build.created_by_name ? el('span', {}, 'by ', el('bdi', {}, nameText(build.created_by_name))) : null,
    );
  };
  update(first);
  return { element: el('li', {}, link), link, update };
}

/** @param {string} status */
const statusText = (status) => nameText(status.slice(0, 1).toUpperCase() + status.slice(1).replaceAll('_', ' '));

/** The agents of the team. */
import { el, fill, reconcile, setText } from './dom.js';
import { listAll } from './paging.js';
import { countText, moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').AgentListItem} AgentListItem */

/** @implements {View} */
export class AgentsView {
  #app;
  #list = el('ul', { class: 'runs', 'aria-label': 'Agents' });
  #empty = el(
    'div',
    { class: 'empty', hidden: true },
    el('h2', {}, 'No agents yet'),
    el('p', {}, 'Create one in a terminal, and it appears here:'),
    el('pre', {}, 'aops agents create NAME --file procedure.yaml'),
  );
  #count = el('p', { class: 'quiet' });
  /** @type {Map<string, ReturnType<typeof agentRow>>} */
  #rows = new Map();

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    this.#list.hidden = true;
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Agents'), this.#count),
      this.#list,
      this.#empty,
    );
  }

  title = () => 'Agents';

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const { api, teamId } = this.#app.session;
    /** @type {readonly AgentListItem[]} */
    const agents = await listAll(api, `/v2/teams/${encodeURIComponent(teamId)}/agents`, 'agents', signal);
    const sorted = agents.toSorted((a, b) => a.name.localeCompare(b.name));
    reconcile(this.#list, this.#rows, sorted, ({ id }) => id, agentRow);
    this.#list.hidden = agents.length === 0;
    this.#empty.hidden = agents.length > 0;
    setText(this.#count, agents.length === 0 ? '' : countText(agents.length, 'agent'));
    return 15_000;
  }
}

/** @param {AgentListItem} first */
function agentRow(first) {
  const title = el('span', { class: 'title', dir: 'auto' });
  const facts = el('span', { class: 'by' });
  const element = el('li', {}, el('a', { href: `#/agents/${first.id}`, class: 'entry' }, title, facts));
  let latestSignature = '';
  /** @param {AgentListItem} agent */
  const update = (agent) => {
    const signature = JSON.stringify([agent.name, agent.latest_build?.id, agent.latest_build?.status, agent.last_run_at]);
    if (signature === latestSignature) return;
    latestSignature = signature;
    const { latest_build: build, last_run_at: lastRun, case_queue_name: queue } = agent;
    setText(title, nameText(agent.name));
    fill(
      facts,
      el('span', {}, build === null ? 'no revision' : `revision ${build.revision_number ?? '–'}${build.status === 'live' ? ', live' : ''}`),
      el('span', {}, ...(lastRun === null ? ['no runs yet'] : ['last run ', moment(lastRun)])),
      queue === null ? null : el('span', {}, 'works on ', el('bdi', {}, nameText(queue))),
    );
  };
  update(first);
  return { element, update };
}

/** The agents of the team. */
import { el } from './dom.js';
import { ListView } from './list-view.js';
import { listAll } from './paging.js';
import { moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').AgentListItem} AgentListItem */

/** @param {import('./types.d.ts').App} app */
export const agentsView = ({ session: { api, teamId } }) =>
  new ListView({
    title: 'Agents',
    noun: 'agent',
    empty: ['No agents yet', 'Create one in a terminal, and it appears here:', 'aops agents create NAME --procedure procedure.yaml'],
    read: async (signal) => {
      /** @type {readonly AgentListItem[]} */
      const agents = await listAll(api, `/v2/teams/${encodeURIComponent(teamId)}/agents`, 'agents', signal);
      return agents.toSorted((a, b) => a.name.localeCompare(b.name));
    },
    href: ({ id }) => `#/agents/${encodeURIComponent(id)}`,
    text: ({ name }) => nameText(name),
    facts: ({ latest_build: build, last_run_at: lastRun, case_queue_name: queue }) => [
      el('span', {}, build === null ? 'no revision' : `revision ${build.revision_number ?? '–'}${build.status === 'live' ? ', live' : ''}`),
      el('span', {}, ...(lastRun === null ? ['no runs yet'] : ['last run ', moment(lastRun)])),
      queue === null ? null : el('span', {}, 'works on ', el('bdi', {}, nameText(queue))),
    ],
  });

/** The queues of the team, with the number of their open cases. */
import { el } from './dom.js';
import { ListView } from './list-view.js';
import { listAll } from './paging.js';
import { countText, moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').Queue} Queue */

/** Queues whose cases are counted; each count is a request. */
const maxCounted = 20;
const openStatuses = 'pending,claimed,needs_input,postponed';

/** @param {import('./types.d.ts').App} app */
export function queuesView({ session: { api, teamId } }) {
  /** @param {string} id @param {AbortSignal} signal */
  const countOpen = async (id, signal) => {
    /** @type {{ total: number }} */
    const { total } = await api.get(`/v2/queues/${encodeURIComponent(id)}/cases`, { status: openStatuses, limit: 1 }, signal);
    return total;
  };
  return new ListView({
    title: 'Queues',
    noun: 'queue',
    empty: ['No queues yet', 'Create one in a terminal, and it appears here:', 'aops queues create NAME'],
    read: async (signal) => {
      /** @type {readonly Queue[]} */
      const queues = await listAll(api, `/v2/teams/${encodeURIComponent(teamId)}/queues`, 'queues', signal);
      const sorted = queues.toSorted((a, b) => a.name.localeCompare(b.name));
      const counts = await Promise.all(sorted.slice(0, maxCounted).map(({ id }) => countOpen(id, signal)));
      return sorted.map((queue, index) => ({ ...queue, openCount: counts[index] }));
    },
    href: ({ id }) => `#/queues/${encodeURIComponent(id)}`,
    text: ({ name }) => nameText(name),
    facts: (queue) => [
      queue.openCount === undefined ? null : el('span', {}, countText(queue.openCount, 'open case')),
      el('span', {}, 'created ', moment(queue.created_at)),
      queue.description === null ? null : el('bdi', {}, nameText(queue.description)),
    ],
  });
}

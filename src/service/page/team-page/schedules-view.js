/** The schedules of all agents, the next one first. */
import { el } from './dom.js';
import { FilterChips, Filters, namedFilterWords } from './filters.js';
import { ListView } from './list-view.js';
import { listAll } from './paging.js';
import { moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').AgentListItem} AgentListItem */
/** @typedef {import('./types.d.ts').Schedule} Schedule */

/** @param {import('./types.d.ts').App} app */
export function schedulesView(app) {
  const { api, teamId } = app.session;
  const filters = new Filters();
  const { agent = () => '' } = namedFilterWords(app.session);
  return new ListView({
    chips: new FilterChips(filters, { agent }, [], () => app.restart()),
    isFiltered: () => !filters.isEmpty,
    title: 'Schedules',
    noun: 'schedule',
    empty: ['No schedules yet', 'Create one in a terminal, and it appears here:', 'aops agents schedules create AGENT --frequency daily'],
    read: async (signal) => {
      const path = `/v2/teams/${encodeURIComponent(teamId)}/agents`;
      /** @type {readonly AgentListItem[]} */
      const agents = await listAll(api, path, 'agents', signal, { include_schedules: 'true' });
      const shown = agents.filter(({ id }) => filters.get('agent') === '' || id === filters.get('agent'));
      return shown
        .flatMap((agent) => (agent.latest_build?.schedules ?? []).map((schedule) => ({ ...schedule, agentName: agent.name })))
        .toSorted((a, b) => sortKey(a).localeCompare(sortKey(b)));
    },
    href: ({ agent_id: agentId }) => `#/agents/${encodeURIComponent(agentId)}`,
    text: ({ agentName, task }) => nameText(task === null ? agentName : `${agentName}: ${task}`),
    facts: (schedule) => [
      schedule.enabled ? el('span', { class: 'status done' }, 'On') : el('span', { class: 'status idle' }, 'Off'),
      el('span', {}, nameText(timesText(schedule))),
      schedule.enabled && schedule.next_run_at ? el('span', {}, 'next run ', moment(schedule.next_run_at)) : null,
      schedule.last_run_at ? el('span', {}, 'last run ', moment(schedule.last_run_at)) : null,
      schedule.auto_disabled_reason ? el('span', { class: 'problem' }, nameText(schedule.auto_disabled_reason)) : null,
      schedule.last_error ? el('span', { class: 'problem' }, nameText(schedule.last_error)) : null,
    ],
  });
}

/** Those that are off come last. @param {Schedule} schedule */
const sortKey = ({ enabled, next_run_at: next }) => (enabled ? (next ?? '8') : '9');

/** `workday at 08:30, Europe/Berlin`. @param {Schedule} schedule */
function timesText({ frequency, time, day, day_of_month: dayOfMonth, cron, timezone, recurring }) {
  const words = [
    frequency === 'custom' ? `cron ${cron}` : frequency.replaceAll('_', ' '),
    day === null ? '' : `on ${day}`,
    dayOfMonth === null ? '' : `on day ${dayOfMonth}`,
    time === null ? '' : `at ${time}`,
    recurring === false ? 'once' : '',
  ];
  return `${words.filter((word) => word !== '').join(' ')}, ${timezone}`;
}

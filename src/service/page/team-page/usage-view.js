/** What the team has used, and the limits of its plan. */
import { el, fill } from './dom.js';
import { moment, nameText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').TeamUsage} TeamUsage */
/** @typedef {import('./types.d.ts').TeamEntitlements} TeamEntitlements */

/** @implements {View} */
export class UsageView {
  #app;
  #place = el('div', { class: 'parts' });
  #signature = '';

  /** @param {import('./types.d.ts').App} app */
  constructor(app) {
    this.#app = app;
    this.element = el('section', { class: 'page narrow' }, el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Usage')), this.#place);
  }

  title = () => 'Usage';

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const { api, teamId } = this.#app.session;
    const path = `/v2/teams/${encodeURIComponent(teamId)}/billing`;
    /** @type {TeamUsage} */
    const usage = await api.get(`${path}/usage`, {}, signal);
    /** @type {TeamEntitlements} */
    const plan = await api.get(`${path}/entitlements`, {}, signal);
    const signature = JSON.stringify([usage, plan]);
    if (signature !== this.#signature) this.#show(usage, plan);
    this.#signature = signature;
    return 15_000;
  }

  /** @param {TeamUsage} usage @param {TeamEntitlements} plan */
  #show({ period, agentRuns, assignments, concurrency, clarityInterviews }, { plan }) {
    fill(
      this.#place,
      el(
        'p',
        { class: 'facts' },
        el('span', {}, 'Plan ', el('bdi', {}, nameText(plan))),
        period.start === null ? null : el('span', {}, 'this period began ', moment(period.start)),
        period.end === null ? null : el('span', {}, 'it ends ', moment(period.end)),
      ),
      meter('Runs in this period', agentRuns),
      meter('Concurrent runs', concurrency),
      meter('Agents', assignments),
      meter('Builder runs with questions in this period', clarityInterviews),
    );
  }
}

/** @param {string} label @param {{ used: number, limit: number | 'unlimited' }} figures */
function meter(label, { used, limit }) {
  const id = `usage-${label.toLowerCase().replaceAll(' ', '-')}`;
  const text =
    limit === 'unlimited'
      ? `${used.toLocaleString('en')}, without a limit`
      : `${used.toLocaleString('en')} of ${limit.toLocaleString('en')}`;
  return el(
    'div',
    { class: 'usage' },
    el('p', {}, el('span', { id }, label), el('span', { class: 'number' }, text)),
    limit === 'unlimited'
      ? null
      : el('meter', { 'aria-labelledby': id, min: 0, max: Math.max(1, limit), high: limit * 0.9, value: Math.min(used, limit) }, text),
  );
}

/** The team page: the session, the view for each address, and the single loop that reads. */
import { AgentView } from './agent-view.js';
import { agentsView } from './agents-view.js';
import { registerWorker } from './app-worker.js';
import { Banner } from './banner.js';
import { BoardView } from './board-view.js';
import { CaseView } from './case-view.js';
import { untilReachable } from './connection.js';
import { announce, el, fill, fillKeepingFocus } from './dom.js';
import { keepFocus } from './focus.js';
import { InboxView } from './inbox-view.js';
import { Poller } from './poller.js';
import { QueueView } from './queue-view.js';
import { queuesView } from './queues-view.js';
import { RunView } from './run-view.js';
import { RunsView } from './runs-view.js';
import { schedulesView } from './schedules-view.js';
import { closeSession, forgetToken, openSession, redeem, takeCode } from './session.js';
import { signIn } from './sign-in.js';
import { StartView } from './start-view.js';
import { UsageView } from './usage-view.js';
import { nameText, refreshMoments } from './words.js';

/** Milliseconds between polls of the inbox while it is not in view. */
const inboxPace = 5_000;
/** Milliseconds between polls while event streams report changes. */
const streamedPace = 60_000;
/** Milliseconds between reads that events cause; events in quick succession cause a single read. */
const eventPace = 400;

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const bar = /** @type {HTMLElement} */ (document.getElementById('bar'));
const bannerPlace = /** @type {HTMLElement} */ (document.getElementById('banner'));

class TeamPage {
  /** @type {import('./types.d.ts').View} */
  #view;
  /** @type {readonly import('./types.d.ts').RunListItem[]} */
  waiting = [];
  waitingCount = 0;
  #requestsReadAt = 0;
  /** The event stream of the team. @type {import('./events.js').Events | undefined} */
  #events;
  #eventReadAt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #refreshTimer;
  #poller;
  #banner;
  #badge = el('span', { class: 'badge', hidden: true });
  /** By the first part of the addresses that they lead to. @type {Record<string, HTMLAnchorElement>} */
  #links = {
    runs: el('a', { href: '#/' }, 'Runs'),
    board: el('a', { href: '#/board' }, 'Board'),
    inbox: el('a', { href: '#/inbox' }, 'Inbox', this.#badge),
    agents: el('a', { href: '#/agents' }, 'Agents'),
    queues: el('a', { href: '#/queues' }, 'Queues'),
    schedules: el('a', { href: '#/schedules' }, 'Schedules'),
    usage: el('a', { href: '#/usage' }, 'Usage'),
  };
  #onNavigate = () => this.#show(true);
  #clock = setInterval(refreshMoments, 10_000);

  /** @param {import('./session.js').Session} session */
  constructor(session) {
    this.session = session;
    fill(
      bar,
      el('a', { class: 'brand', href: '#/' }, 'aops'),
      el('span', { class: 'team' }, el('bdi', {}, nameText(session.teamName))),
      el('nav', { 'aria-label': 'Page' }, ...Object.values(this.#links)),
      el('button', { type: 'button', class: 'plain sign-out', click: () => void this.#signOut() }, 'Sign out'),
    );
    bar.hidden = false;
    this.#view = this.#viewAt(location.hash);
    this.#banner = new Banner(bannerPlace, () => this.wake());
    this.#show(false);
    addEventListener('hashchange', this.#onNavigate);
    this.#poller = new Poller((signal) => this.#refresh(signal), {
      onProblem: (problem) => this.#banner.show(problem),
      onSignOut: () => this.#leave('You are signed out because the session has ended.'),
      onFailure: (error) => this.#fail(error),
    });
    if (session.hasScope('runs:read'))
      this.#events = session.api.events(`/v2/teams/${encodeURIComponent(session.teamId)}/events?include=runs`, () =>
        this.#onRequestsChange(),
      );
  }

  /** Reads again, now. */
  wake() {
    this.#requestsReadAt = 0;
    this.#poller?.wake();
  }

  /** Ignores what is being read, and reads again. */
  restart() {
    this.#requestsReadAt = 0;
    this.#poller.restart();
  }

  /** Reads again soon. */
  onChange() {
    this.#refreshTimer ??= setTimeout(
      () => {
        this.#refreshTimer = undefined;
        this.#eventReadAt = Date.now();
        this.#poller.wake();
      },
      Math.max(0, this.#eventReadAt + eventPace - Date.now()),
    );
  }

  #onRequestsChange() {
    this.#requestsReadAt = 0;
    this.onChange();
  }

  /** @param {AbortSignal} signal */
  async #refresh(signal) {
    const isInbox = this.#view instanceof InboxView;
    if (this.session.hasScope('runs:read') && (isInbox || Date.now() - this.#requestsReadAt >= inboxPace)) {
      /** @type {{ data: import('./types.d.ts').RunListItem[], total: number }} */
      const { data, total } = await this.session.api.get(
        `/v2/teams/${this.session.teamId}/runs`,
        { status: 'waiting', sort_order: 'asc', limit: 100 },
        signal,
      );
      this.#requestsReadAt = Date.now();
      this.waiting = data;
      this.waitingCount = total;
      this.#showCount(total);
    }
    const pace = await this.#view.refresh(signal);
    // After a failure.
    if (!signal.aborted && this.#view.element.parentElement !== main) fill(main, this.#view.element);
    this.#showTitle();
    if (this.#events?.isOpen !== true) return Math.min(pace, inboxPace);
    return this.#view.isStreamed?.() === false ? pace : streamedPace;
  }

  /** @param {string} hash @returns {import('./types.d.ts').View} */
  #viewAt(hash) {
    const [first = '', id = '', panel = '', ...rest] = partsOf(hash);
    if (first === 'inbox') return new InboxView(this);
    if (first === 'board') return new BoardView(this);
    if (first === 'start') return new StartView(this, id);
    if (first === 'agents') return id === '' ? agentsView(this) : new AgentView(this, id, panel === 'revisions' ? (rest[0] ?? '') : '');
    if (first === 'queues') return id === '' ? queuesView(this) : new QueueView(this, id);
    if (first === 'cases' && id !== '') return new CaseView(this, id);
    if (first === 'schedules') return schedulesView(this);
    if (first === 'usage') return new UsageView(this);
    if (first !== 'runs' || id === '') return new RunsView(this);
    const kind = panel === 'screenshots' ? panel : panel === 'files' || panel === 'file' ? 'files' : 'timeline';
    return new RunView(this, id, kind, { path: rest.length === 0 ? '' : `/${rest.join('/')}`, isFile: panel === 'file' });
  }

  /** @param {boolean} isNew whether the person navigated here within the page */
  #show(isNew) {
    if (isNew) {
      this.#view.close?.();
      this.#view = this.#viewAt(location.hash);
    }
    fill(main, this.#view.element);
    const [first = ''] = partsOf(location.hash);
    const here = Object.hasOwn(this.#links, first) ? first : first === 'cases' ? 'queues' : 'runs';
    for (const [name, link] of Object.entries(this.#links)) {
      if (name === here) {
        link.setAttribute('aria-current', 'page');
        showWhole(link);
      } else link.removeAttribute('aria-current');
    }
    this.#showTitle();
    if (!isNew) return;
    scrollTo({ top: 0, behavior: 'instant' });
    const heading = main.querySelector('h1');
    heading?.focus({ preventScroll: true });
    this.#poller.restart();
  }

  #showTitle() {
    const count = this.#badge.hidden ? '' : `(${this.#badge.dataset.count}) `;
    const title = `${count}${this.#view.title()} · ${nameText(this.session.teamName)} · aops`;
    if (document.title !== title) document.title = title;
  }

  /** @param {number} count */
  #showCount(count) {
    if (this.#badge.dataset.count === String(count)) return;
    this.#badge.dataset.count = String(count);
    this.#badge.hidden = count === 0;
    fill(this.#badge, count > 99 ? '99+' : count, el('span', { class: 'hidden' }, ' waiting'));
  }

  /** @param {unknown} error */
  #fail(error) {
    const text = error instanceof Error ? error.message : String(error);
    fillKeepingFocus(
      main,
      el(
        'div',
        { class: 'empty' },
        el('h1', { tabindex: -1 }, 'This cannot be shown'),
        el('p', {}, nameText(text)),
        el('p', {}, el('a', { href: '#/' }, 'Go to the runs')),
      ),
    );
    announce(text);
  }

  async #signOut() {
    this.#close();
    await closeSession(this.session);
    begin('You are signed out.');
  }

  /** @param {string} reason */
  #leave(reason) {
    this.#close();
    forgetToken();
    begin(reason);
  }

  #close() {
    removeEventListener('hashchange', this.#onNavigate);
    clearInterval(this.#clock);
    this.#view.close?.();
    this.#events?.close();
    clearTimeout(this.#refreshTimer);
    this.#poller.end();
    this.#banner.close();
    bar.hidden = true;
  }
}

/** The parts of an address such as `#/runs/ID/files`, without its filters. @param {string} hash */
const partsOf = (hash) =>
  hash
    .replace(/^#?\/?/, '')
    .replace(/\?.*$/s, '')
    .split('/')
    .map(decodePart);

/** @param {string} part */
function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Scrolls the links sideways, as far as needed on a phone, to show one of them. `scrollIntoView` would also make it the place from
 * which the Tab key continues.
 * @param {HTMLElement} link
 */
function showWhole(link) {
  const list = link.parentElement;
  if (list === null) return;
  const [area, box] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  list.scrollLeft += Math.min(0, box.left - area.left) + Math.max(0, box.right - area.right);
}

/** Asks for a token. @param {string} reason */
function begin(reason) {
  document.title = 'Sign in · aops';
  fill(main, signIn({ reason, onSignIn: (session) => new TeamPage(session) }));
  main.querySelector('h1')?.focus({ preventScroll: true });
}

/** Signs in with the code of the address, or with the session that this tab has stored. */
async function start() {
  const code = takeCode();
  const places = { main, bannerPlace };
  try {
    if (code !== undefined) await untilReachable(() => redeem(code), places);
  } catch (error) {
    // This tab is already signed in: the link was opened twice, or from the history.
    if (!(await openSession().catch(() => undefined))) return begin(error instanceof Error ? error.message : 'Signing in failed.');
  }
  try {
    const session = await untilReachable(openSession, places);
    if (session === undefined) begin('');
    else new TeamPage(session);
  } catch {
    forgetToken();
    begin('You are signed out because the session has ended.');
  }
}

// A link with a code can be opened in a tab that already shows the page.
addEventListener('hashchange', () => {
  if (new URLSearchParams(location.hash.slice(1)).has('code')) location.reload();
});

keepFocus();
registerWorker();
void start();

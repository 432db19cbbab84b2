/** A view that is a list: agents, queues, and schedules. Rows keep their place and their focus when new data arrives. */
import { el, fill, reconcile, setText } from './dom.js';
import { countText } from './words.js';

/** @typedef {import('./types.d.ts').View} View */

/**
 * @template Item
 * @typedef {object} Listing
 * @property {string} title
 * @property {string} noun one of the things, for the count
 * @property {[title: string, text: string, command: string]} empty what is shown instead of an empty list
 * @property {(signal: AbortSignal) => Promise<readonly Item[]>} read
 * @property {(item: Item) => string} href the address of an item
 * @property {(item: Item) => string} text its title
 * @property {(item: Item) => (Node | string | null)[]} facts what is shown below the title
 * @property {import('./filters.js').FilterChips} [chips] the filters
 * @property {() => boolean} [isFiltered]
 */

/** Milliseconds between polls: these things rarely change. */
const pace = 15_000;

/** @template {{ id: string }} Item @implements {View} */
export class ListView {
  #listing;
  #list;
  #empty;
  #noMatch;
  #count = el('p', { class: 'quiet' });
  /** @type {Map<string, { element: HTMLElement, update: (item: Item) => void }>} */
  #rows = new Map();

  /** @param {Listing<Item>} listing */
  constructor(listing) {
    this.#listing = listing;
    const [emptyTitle, emptyText, command] = listing.empty;
    this.#list = el('ul', { class: 'runs', 'aria-label': listing.title, hidden: true });
    this.#empty = el('div', { class: 'empty', hidden: true }, el('h2', {}, emptyTitle), el('p', {}, emptyText), el('pre', {}, command));
    this.#noMatch = el(
      'div',
      { class: 'empty', hidden: true },
      el('h2', {}, `No matching ${listing.noun}s`),
      el('p', {}, 'Remove a filter to see more.'),
    );
    this.element = el(
      'section',
      { class: 'page narrow' },
      el('div', { class: 'head' }, el('h1', { tabindex: -1 }, listing.title), this.#count),
      listing.chips?.element ?? '',
      this.#list,
      this.#empty,
      this.#noMatch,
    );
  }

  title = () => this.#listing.title;

  /** @param {AbortSignal} signal */
  async refresh(signal) {
    const items = await this.#listing.read(signal);
    reconcile(
      this.#list,
      this.#rows,
      items,
      ({ id }) => id,
      (item) => listRow(item, this.#listing),
    );
    this.#list.hidden = items.length === 0;
    const isFiltered = this.#listing.isFiltered?.() === true;
    this.#empty.hidden = items.length > 0 || isFiltered;
    this.#noMatch.hidden = items.length > 0 || !isFiltered;
    setText(this.#count, items.length === 0 ? '' : countText(items.length, this.#listing.noun));
    return pace;
  }
}

/**
 * A row with a title and facts below it. @template Item
 * @param {Item} first @param {Pick<Listing<Item>, 'href' | 'text' | 'facts'>} listing
 */
export function listRow(first, { href, text, facts }) {
  const title = el('span', { class: 'title', dir: 'auto' });
  const details = el('span', { class: 'by' });
  const element = el('li', {}, el('a', { href: href(first), class: 'entry' }, title, details));
  let latestSignature = '';
  /** @param {Item} item */
  const update = (item) => {
    const signature = JSON.stringify(item);
    if (signature === latestSignature) return;
    latestSignature = signature;
    setText(title, text(item));
    fill(details, ...facts(item));
  };
  update(first);
  return { element, update };
}

/**
 * The filters of a view, which are part of its address: `#/?status=failed&agent=ID`. A view with other filters than the address does
 * not exist, so an address can be bookmarked and shared.
 */
import { ApiError } from './api.js';
import { announce, el, fill, icon } from './dom.js';
import { nameText, proseText } from './words.js';

/** The filters in an address, such as `#/queues/ID?status=failed`. @param {string} hash */
export function filtersIn(hash) {
  const start = hash.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : hash.slice(start + 1));
}

export class Filters {
  #values;

  /**
   * Takes the filters from the address. If it has none, those that the view had before apply again and appear in the address.
   * @param {URLSearchParams} [kept]
   */
  constructor(kept = new URLSearchParams()) {
    const given = filtersIn(location.hash);
    for (const [name, value] of [...given]) if (value === '') given.delete(name);
    this.#values = given.size > 0 ? given : kept;
    if (given.size === 0 && kept.size > 0) this.#showInAddress();
  }

  /** For the next view of this kind. */
  get values() {
    return this.#values;
  }

  get isEmpty() {
    return this.#values.size === 0;
  }

  /** Differs if any filter differs. */
  get signature() {
    return this.#values.toString();
  }

  /** The value of a filter, or an empty text. @param {string} name */
  get(name) {
    return this.#values.get(name) ?? '';
  }

  /** All values of a filter that can be repeated. @param {string} name */
  all(name) {
    return this.#values.getAll(name);
  }

  /** @param {string} name @param {string} value an empty text removes the filter */
  set(name, value) {
    if (value === '') this.#values.delete(name);
    else this.#values.set(name, value);
    this.#showInAddress();
  }

  /** @param {string} name @param {string} value */
  remove(name, value) {
    this.#values.delete(name, value);
    this.#showInAddress();
  }

  /** Changes the address in place: filters are not steps in the history. */
  #showInAddress() {
    const [path = ''] = location.hash.split('?');
    const query = this.#values.toString();
    history.replaceState(null, '', `${path || '#/'}${query === '' ? '' : `?${query}`}`);
  }
}

/**
 * What a filter means, for the person who removes it.
 * @typedef {Record<string, (value: string) => string | Promise<string>>} FilterWords
 */

/** The filters that have no field of their own. Each can be removed; those that the view does not know are shown as such. */
export class FilterChips {
  element = el('ul', { class: 'chips', 'aria-label': 'Filters', hidden: true });
  #filters;
  #words;
  #fields;
  #onChange;

  /**
   * @param {Filters} filters @param {FilterWords} words the filters that are shown here
   * @param {readonly string[]} fields the filters that have a field @param {() => void} onChange
   */
  constructor(filters, words, fields, onChange) {
    this.#filters = filters;
    this.#words = words;
    this.#fields = fields;
    this.#onChange = onChange;
    this.#show();
  }

  #show() {
    const entries = [...this.#filters.values].filter(([name]) => !this.#fields.includes(name));
    fill(this.element, ...entries.map(([name, value], index) => this.#chip(name, value, index)));
    this.element.hidden = entries.length === 0;
  }

  /** @param {string} name @param {string} value @param {number} index */
  #chip(name, value, index) {
    const isKnown = Object.hasOwn(this.#words, name);
    const text = el('bdi', {});
    const button = el('button', { type: 'button', class: 'plain', click: () => remove() }, icon('cross'));
    const show = (/** @type {string} */ words) => {
      fill(text, nameText(words));
      button.setAttribute('aria-label', `Remove the filter ${nameText(words)}`);
    };
    show(isKnown ? value : `Unknown filter, not applied: ${name}`);
    // If the name of an agent, for example, cannot be read, its ID stays.
    if (isKnown) Promise.resolve(this.#words[name]?.(value) ?? value).then(show, () => undefined);
    const remove = () => {
      this.#filters.remove(name, value);
      this.#show();
      const buttons = this.element.querySelectorAll('button');
      /** @type {HTMLElement | null | undefined} */
      const next = buttons[Math.min(index, buttons.length - 1)] ?? this.element.parentElement?.querySelector('h1');
      next?.focus({ preventScroll: true });
      this.#onChange();
    };
    return el('li', { class: isKnown ? 'chip' : 'chip problem' }, text, button);
  }
}

/**
 * Words for filters by objects that have a name.
 * @param {import('./types.d.ts').Session} session
 * @returns {FilterWords}
 */
export const namedFilterWords = ({ api }) => ({
  agent: async (id) => `Agent: ${(await api.get(`/v2/agents/${encodeURIComponent(id)}`)).agent.name}`,
  queue: async (id) => `Queue: ${(await api.get(`/v2/queues/${encodeURIComponent(id)}`)).queue.name}`,
  run: async (id) => `Run: #${(await api.get(`/v2/runs/${encodeURIComponent(id)}`)).run.run_number}`,
});

/** Milliseconds between polls with filters that the service refuses. */
const refusedPace = 60_000;

/**
 * Reads a filtered list. If the service refuses the filters, for example because the address was changed by hand, `empty` says so.
 * @param {Filters} filters @param {HTMLElement} empty what is shown instead of the list @param {() => Promise<number>} read
 * @param {() => void} clear removes the items of the list
 */
export async function unlessRefused(filters, empty, read, clear) {
  // They can change before the service answers.
  const { isEmpty, signature } = filters;
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400 || isEmpty) throw error;
    clear();
    empty.hidden = false;
    const key = `refused ${signature}`;
    if (empty.dataset.for === key) return refusedPace;
    empty.dataset.for = key;
    fill(empty, el('h2', {}, 'These filters are not valid'), el('p', {}, proseText(error.message)));
    announce('These filters are not valid.');
    return refusedPace;
  }
}

/** @param {string} label */
export const timeWords =
  (label) =>
  /** @param {string} iso */
  (iso) =>
    `${label} ${Number.isFinite(Date.parse(iso)) ? new Date(iso).toLocaleString() : iso}`;

/**
 * Selects a value that came from the address. If the list does not offer it, it is added.
 * @param {HTMLSelectElement} field @param {string} value @param {string} [label]
 */
export function selectValue(field, value, label = value) {
  if (value !== '' && ![...field.options].some((option) => option.value === value)) field.append(el('option', { value }, nameText(label)));
  field.value = value;
}

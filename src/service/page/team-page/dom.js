/** Building the page. Text is always text: no function of the page accepts HTML. */

/** @typedef {Node | string | number | null | undefined | false} Child */

const svgSpace = 'http://www.w3.org/2000/svg';

/**
 * Creates an element. Attributes that are undefined or false are left out, `true` becomes an attribute without a value, and functions
 * become event listeners.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: any) => void)>} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...visible(children));
  return element;
}

/** Replaces the content of an element. @param {Element} element @param {Child[]} children */
export const fill = (element, ...children) => element.replaceChildren(...visible(children));

/** Replaces the content of an element. If the focus was inside, it moves to the new heading. @param {Element} element @param {Child[]} children */
export function fillKeepingFocus(element, ...children) {
  const hadFocus = element.contains(document.activeElement);
  fill(element, ...children);
  if (hadFocus) element.querySelector('h1')?.focus({ preventScroll: true });
}

/** @param {Child[]} children @returns {(Node | string)[]} */
const visible = (children) =>
  children
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === 'number' ? String(child) : /** @type {Node | string} */ (child)));

/** Sets a text if it differs, so that nothing flickers and no selection is lost. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const paths = {
  check: 'M4 12.500 9.500 18 20 6.500',
  cross: 'M6 6l12 12M18 6 6 18',
  back: 'M14.500 5.500 8 12l6.500 6.500',
  folder: 'M3.500 18.500v-13h6l2 2.500h9v10.500z',
  file: 'M6.500 3.500h7.500l4 4v13h-11.500zM13.500 3.500v4.500h4.500',
  down: 'M12 4v14M6 12.500l6 6 6-6',
  dots: 'M6 12h.01M12 12h.01M18 12h.01',
};

/** An icon, with a label unless there is text next to it. @param {keyof typeof paths} name */
export function icon(name) {
  const svg = document.createElementNS(svgSpace, 'svg');
  for (const [key, value] of Object.entries({ viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' })) svg.setAttribute(key, value);
  const path = document.createElementNS(svgSpace, 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

/**
 * Updates the children of a list to match its items. Existing children stay in place, with their focus and scroll position.
 * @template Item
 * @template {{ element: HTMLElement, update?: (item: Item) => void }} Row
 * @param {HTMLElement} list
 * @param {Map<string, Row>} rows the existing rows by key; updated as well
 * @param {readonly Item[]} items
 * @param {(item: Item) => string} key
 * @param {(item: Item) => Row} create
 */
export function reconcile(list, rows, items, key, create) {
  const keys = new Set(items.map(key));
  for (const [id, row] of rows) {
    if (keys.has(id)) continue;
    row.element.remove();
    rows.delete(id);
  }
  /** @type {Element | null} */
  let next = list.firstElementChild;
  for (const item of items) {
    const existingRow = rows.get(key(item));
    const row = existingRow ?? create(item);
    if (existingRow === undefined) rows.set(key(item), row);
    else row.update?.(item);
    if (row.element === next) next = next.nextElementSibling;
    else list.insertBefore(row.element, next);
  }
}

/** Texts that are still to be announced. @type {string[]} */
const announcements = [];

/** Announces a text to screen readers. Texts at the same time are announced together. @param {string} text */
export function announce(text) {
  announcements.push(text.slice(0, 300));
  const live = document.getElementById('live');
  if (live === null || announcements.length > 1) return;
  live.textContent = '';
  // After a moment, because setting the same text twice would not count as a change.
  setTimeout(() => {
    live.textContent = announcements.splice(0).join('. ');
  }, 60);
}

/**
 * Keeps the focus where the person works. The focused element can disappear when new data arrives or when it is pressed ("Show more"
 * at the end). The browser then focuses the whole document, and people who use a keyboard or a screen reader start at the top again.
 */

/** The element that was focused last, and its ancestors. @type {Element[]} */
let chain = [];

const isThere = (/** @type {Element} */ element) => element.isConnected && element.checkVisibility();

/** Watches the page from now on. */
export function keepFocus() {
  document.addEventListener('focusin', ({ target }) => {
    chain = [];
    for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) chain.push(at);
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    // After the removal. If the person left the element with a click elsewhere, the focus must not return.
    queueMicrotask(() => {
      if (relatedTarget === null && target === chain[0] && chain[0] !== document.activeElement && isThere(chain[0])) chain = [];
    });
  });
  new MutationObserver(restore).observe(document.body, { subtree: true, childList: true, attributeFilter: ['hidden'] });
}

/** @param {MutationRecord[]} records */
function restore(records) {
  const [last] = chain;
  const isElsewhere = document.activeElement !== document.body && document.activeElement !== last;
  if (last === undefined || isElsewhere || isThere(last)) return;
  const place = neighbour(records) ?? chain.find((element) => isThere(element) && element !== document.body);
  const target = place === undefined || place.id === 'main' ? document.querySelector('main h1') : place;
  if (!(target instanceof HTMLElement)) return;
  if (target.tabIndex < 0) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

/** If a row of a list was removed, the focusable element of the nearest row that remains. @param {MutationRecord[]} records */
function neighbour(records) {
  const record = records.find(({ removedNodes }) =>
    [...removedNodes].some((node) => node instanceof HTMLLIElement && chain.includes(node)),
  );
  const row = remaining(records, record, 'nextSibling') ?? remaining(records, record, 'previousSibling');
  return row instanceof HTMLLIElement && isThere(row) ? row.querySelector('a, button, summary') : null;
}

/**
 * The nearest node on one side that was not removed as well.
 * @param {MutationRecord[]} records @param {MutationRecord | undefined} removal @param {'nextSibling' | 'previousSibling'} side
 */
function remaining(records, removal, side) {
  let node = removal?.[side] ?? null;
  while (node !== null && !node.isConnected) {
    const removed = node;
    node = records.find(({ removedNodes }) => [...removedNodes].includes(removed))?.[side] ?? null;
  }
  return node;
}

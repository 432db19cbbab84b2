/**
 * Keeps the focus where somebody works. What has it may be taken away by what is read, or by pressing it ("Show more", at the
 * end): the browser then gives it to the whole document, and who uses keys or a screen reader begins at the top again.
 */

/** What had the focus last, with what it is in. @type {Element[]} */
let chain = [];

const isThere = (/** @type {Element} */ element) => element.isConnected && element.checkVisibility();

/** Watches the page from now on. */
export function keepFocus() {
  document.addEventListener('focusin', ({ target }) => {
    chain = [];
    for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) chain.push(at);
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    // After whatever takes it away: who leaves it, by a click beside it, is not to be brought back.
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

/** Of a list whose row is gone, what can be chosen in the next one. @param {MutationRecord[]} records */
function neighbour(records) {
  const record = records.find(({ removedNodes }) =>
    [...removedNodes].some((node) => node instanceof HTMLLIElement && chain.includes(node)),
  );
  const row = record?.nextSibling ?? record?.previousSibling;
  return row instanceof HTMLLIElement && isThere(row) ? row.querySelector('a, button, summary') : null;
}

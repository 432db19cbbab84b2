/** What is shown for an address whose object does not exist. */
import { ApiError } from './api.js';
import { el, fillKeepingFocus, icon } from './dom.js';
import { proseText } from './words.js';

/** Milliseconds until the next attempt: what does not exist rarely comes back. */
const pace = 60_000;

/**
 * Reads something; if it does not exist, the element says so.
 * @param {HTMLElement} element @param {{ what: string, href: string, list: string }} names @param {() => Promise<number>} read
 */
export async function missingIf(element, { what, href, list }, read) {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 400)) throw error;
    fillKeepingFocus(
      element,
      el('a', { class: 'up', href }, icon('back'), list),
      el(
        'div',
        { class: 'empty' },
        el('h1', { tabindex: -1 }, `This ${what} was not found`),
        el(
          'p',
          {},
          error.status === 404 ? 'It was deleted, belongs to another team, or the address is incomplete.' : proseText(error.message),
        ),
      ),
    );
    return pace;
  }
}

/** The state without a connection, before the page could sign in: it says so, and tries again with growing pauses. */
import { Unreachable } from './api.js';
import { Banner } from './banner.js';
import { el, fill } from './dom.js';

/** Seconds to wait after one failure, two failures, and so on. */
const pauses = [2, 4, 8, 15, 30];

/**
 * Resolves to the result of `attempt` as soon as the service can be reached. @template Result
 * @param {() => Promise<Result>} attempt @param {{ main: HTMLElement, bannerPlace: HTMLElement }} places
 * @returns {Promise<Result>}
 */
export async function untilReachable(attempt, { main, bannerPlace }) {
  /** @type {(() => void) | undefined} */
  let retry;
  /** @type {Banner | undefined} */
  let banner;
  const onOnline = () => retry?.();
  addEventListener('online', onOnline);
  try {
    for (let failures = 0; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
      }
      if (banner === undefined) {
        banner = new Banner(bannerPlace, () => retry?.());
        showOffline(main);
      }
      const wait = (pauses[Math.min(failures, pauses.length - 1)] ?? 30) * 1_000;
      banner.show({ kind: 'away', until: Date.now() + wait });
      await new Promise((resolve) => {
        retry = () => resolve(undefined);
        setTimeout(retry, wait);
      });
    }
  } finally {
    removeEventListener('online', onOnline);
    banner?.close();
  }
}

/** @param {HTMLElement} main */
function showOffline(main) {
  document.title = 'No connection · aops';
  fill(
    main,
    el(
      'section',
      { class: 'page narrow' },
      el(
        'div',
        { class: 'empty' },
        el('h1', { tabindex: -1 }, 'No connection'),
        el('p', {}, `The service at ${location.host} cannot be reached. Runs and requests are not stored on this device.`),
        el('p', {}, 'This page continues as soon as the service responds.'),
      ),
    ),
  );
}

/** The state without the service, before the page could sign in: it says so, and tries again with growing pauses. */
import { ApiError, unavailability } from './api.js';
import { Banner } from './banner.js';
import { el, fill } from './dom.js';

/** Seconds to wait after one failure, two failures, and so on. */
const pauses = [2, 4, 8, 15, 30];

/**
 * Resolves to the result of `attempt` as soon as the service is available. @template Result
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
        const kind = unavailability(error);
        if (kind === undefined) throw error;
        banner ??= new Banner(bannerPlace, () => retry?.());
        showUnavailable(main, kind);
        const retryAfter = error instanceof ApiError ? error.retryAfter : 0;
        const wait = Math.max(pauses[Math.min(failures, pauses.length - 1)] ?? 30, retryAfter) * 1_000;
        banner.show({ kind, until: Date.now() + wait });
        await new Promise((resolve) => {
          retry = () => resolve(undefined);
          setTimeout(retry, wait);
        });
      }
    }
  } finally {
    removeEventListener('online', onOnline);
    banner?.close();
  }
}

/** @param {HTMLElement} main @param {import('./poller.js').Problem['kind']} kind */
function showUnavailable(main, kind) {
  const heading = kind === 'away' ? 'No connection' : 'The service is not available';
  document.title = `${heading} · aops`;
  if (main.querySelector('h1')?.textContent === heading) return;
  fill(
    main,
    el(
      'section',
      { class: 'page narrow' },
      el(
        'div',
        { class: 'empty' },
        el('h1', { tabindex: -1 }, heading),
        kind === 'away'
          ? el('p', {}, `The service at ${location.host} cannot be reached. Runs and requests are not stored on this device.`)
          : null,
        el('p', {}, 'This page continues as soon as the service responds.'),
      ),
    ),
  );
}

/**
 * The service worker: the files of the page without a connection, and notifications. It never touches requests to the interface, so
 * no data of a team is stored, and what it does store is the same for everybody. The service appends a call of `startWorker` with the
 * version of the files; when they change, browsers get a new worker, which stores the new files and deletes the old ones.
 */

/** Milliseconds to wait for the service before a stored file is used. */
const workerPatience = 8_000;

/** @param {{ version: string, files: string[] }} shell the files to store, and a version that changes with them */
// biome-ignore lint/correctness/noUnusedVariables: the service appends the call
function startWorker({ version, files }) {
  const worker = /** @type {import('./types.d.ts').WorkerScope} */ (/** @type {unknown} */ (globalThis));
  const cacheName = `aops-page-${version}`;

  worker.addEventListener('install', (event) => {
    event.waitUntil(storeFiles().then(() => worker.skipWaiting()));
  });

  worker.addEventListener('activate', (event) => {
    event.waitUntil(deleteOldFiles().then(() => worker.clients.claim()));
  });

  worker.addEventListener('fetch', (event) => {
    const { method, url } = event.request;
    const { origin, pathname } = new URL(url);
    if (method === 'GET' && origin === worker.location.origin && files.includes(pathname))
      event.respondWith(pageFile(event.request, pathname));
  });

  worker.addEventListener('push', (event) => {
    event.waitUntil(showNotification(event.data?.text() ?? ''));
  });

  worker.addEventListener('notificationclick', (event) => {
    event.notification.close();
    event.waitUntil(openPage(event.notification.data));
  });

  async function storeFiles() {
    const cache = await caches.open(cacheName);
    await cache.addAll(files.map((file) => new Request(file, { cache: 'no-cache' })));
  }

  async function deleteOldFiles() {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name !== cacheName).map((name) => caches.delete(name)));
  }

  /**
   * The file from the service, or the stored one if the service cannot be reached, fails, or takes too long. The request is sent
   * unchanged, so a proxy that signs people in can still redirect it.
   * @param {Request} request @param {string} path
   */
  async function pageFile(request, path) {
    const answer = fetch(request).then(
      (response) => (response.status < 500 ? response : undefined),
      () => undefined,
    );
    const limit = new Promise((resolve) => setTimeout(resolve, workerPatience)).then(() => undefined);
    const response = (await Promise.race([answer, limit])) ?? (await (await caches.open(cacheName)).match(path));
    return response ?? (await answer) ?? Response.error();
  }

  /** A push must be shown, even if it cannot be read. @param {string} text */
  function showNotification(text) {
    const { title, run_number: number, link, request_id: id } = parse(text);
    return worker.registration.showNotification(typeof number === 'number' ? `Run #${number} waits for you` : 'A run waits for you', {
      body: typeof title === 'string' ? visibleText(title) : '',
      icon: '/page/icon-192.png',
      // A reminder replaces the first notification.
      tag: typeof id === 'string' ? id : 'aops',
      renotify: true,
      data: typeof link === 'string' ? link : '',
    });
  }

  /** @param {string} text @returns {Record<string, unknown>} */
  function parse(text) {
    try {
      return JSON.parse(text) ?? {};
    } catch {
      return {};
    }
  }

  /** Without characters that hide text or reverse its direction. @param {string} text */
  function visibleText(text) {
    return text.replace(/\p{Cc}|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, ' ');
  }

  /** Shows the request in a page that is open, or in a new one. It only shows: nothing is answered. @param {unknown} data */
  async function openPage(data) {
    const link = typeof data === 'string' && /^\/#\/runs\/[\w-]+$/.test(data) ? data : '/#/inbox';
    const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const pages = windows.filter(({ url }) => new URL(url).pathname === '/');
    const page = pages.find(({ visibilityState }) => visibilityState === 'visible') ?? pages[0];
    if (page === undefined) return void (await worker.clients.openWindow(link));
    page.postMessage({ open: link });
    await page.focus();
  }
}

/** Registers the service worker, which makes the page an installable app, and follows the links of its notifications. */

const path = '/page/worker.js';

/** The only policy of the page: it turns nothing but this address into a script. */
const policy = /** @type {{ trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(text: string): string } } }} */ (
  globalThis
).trustedTypes?.createPolicy('aops-worker', { createScriptURL: () => path });

/** Whether the browser offers service workers here: it needs TLS, or an address of this machine. */
export const hasWorker = isSecureContext && 'serviceWorker' in navigator;

/** Registers the worker; a new version of it replaces the old one. Without it, the page works, but not as an app. */
export function registerWorker() {
  if (!hasWorker) return;
  navigator.serviceWorker.addEventListener('message', ({ data }) => {
    if (typeof data?.open === 'string' && data.open.startsWith('/#/')) location.hash = data.open.slice(1);
  });
  navigator.serviceWorker.register(policy?.createScriptURL(path) ?? path, { scope: '/', updateViaCache: 'none' }).catch(() => undefined);
}

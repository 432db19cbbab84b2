/** Turns notifications on and off for this browser and this session. */
import { hasWorker } from './app-worker.js';
import { announce, el, fill } from './dom.js';
import { proseText } from './words.js';

const path = '/page/push';

/** @typedef {'unsupported' | 'insecure' | 'blocked' | 'off' | 'on'} State */

export class Notifications {
  #session;
  /** @type {State | undefined} */
  #state;
  #isBusy = false;
  #button = el('button', { type: 'button', class: 'plain', click: () => void this.#toggle() });
  #text = el('p', { class: 'quiet', id: 'notifications-text' });
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });

  /** @param {import('./session.js').Session} session */
  constructor(session) {
    this.#session = session;
    this.#button.setAttribute('aria-describedby', 'notifications-text');
    this.element = el(
      'section',
      { class: 'notifications', 'aria-label': 'Notifications', hidden: true },
      el('div', { class: 'buttons' }, this.#button, this.#text),
      this.#problem,
    );
    void this.#find();
  }

  async #find() {
    try {
      this.#show(await this.#read());
    } catch {
      // The banner shows the problem; the control appears with the next visit of the view.
    }
  }

  /** @returns {Promise<State>} */
  async #read() {
    if (!isSecureContext) return 'insecure';
    if (!hasWorker || !('PushManager' in globalThis) || !('Notification' in globalThis)) return 'unsupported';
    if (Notification.permission === 'denied') return 'blocked';
    const subscription = await browserSubscription();
    if (subscription === null || Notification.permission !== 'granted') return 'off';
    /** @type {{ subscribed: boolean }} */
    const { subscribed } = await this.#session.api.change('POST', path, { endpoint: subscription.endpoint });
    return subscribed ? 'on' : 'off';
  }

  async #toggle() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#button.setAttribute('aria-disabled', 'true');
    this.#showProblem('');
    try {
      this.#show(await (this.#state === 'on' ? this.#turnOff() : this.#turnOn()));
      announce(this.#text.textContent ?? '');
    } catch (error) {
      this.#showProblem(`Notifications could not be changed. ${error instanceof Error ? proseText(error.message) : ''}`);
    }
    this.#isBusy = false;
    this.#button.removeAttribute('aria-disabled');
  }

  /** @returns {Promise<State>} */
  async #turnOn() {
    // Browsers only ask right after a click.
    if ((await Notification.requestPermission()) !== 'granted') return Notification.permission === 'denied' ? 'blocked' : 'off';
    const { api } = this.#session;
    /** @type {{ key: string }} */
    const { key } = await api.get(path);
    const { pushManager } = await navigator.serviceWorker.ready;
    const existingSubscription = await pushManager.getSubscription();
    // A subscription with the key of another data directory cannot be used.
    if (existingSubscription !== null && !hasKey(existingSubscription, key)) await existingSubscription.unsubscribe();
    const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const { endpoint, keys } = subscription.toJSON();
    await api.change('PUT', path, { endpoint, keys });
    return 'on';
  }

  /** @returns {Promise<State>} */
  async #turnOff() {
    await endNotifications(this.#session);
    return 'off';
  }

  /** @param {State} state */
  #show(state) {
    this.#state = state;
    this.element.hidden = false;
    this.#button.hidden = state !== 'on' && state !== 'off';
    fill(this.#button, state === 'on' ? 'Turn off notifications' : 'Turn on notifications');
    fill(this.#text, texts[state]);
  }

  /** @param {string} text */
  #showProblem(text) {
    this.#problem.hidden = text === '';
    this.#problem.textContent = text;
  }
}

/** @type {Record<State, string>} */
const texts = {
  on: 'This browser notifies you of new requests until your session ends or you sign out.',
  off: 'This browser can notify you of new requests, also when the page is closed.',
  blocked: 'Notifications are blocked. Allow them for this site in the settings of the browser.',
  insecure: 'Notifications need a connection over TLS, or the machine of the service.',
  unsupported: 'This browser cannot show notifications here. On a phone or tablet by Apple, add the page to the home screen first.',
};

const browserSubscription = async () => (await (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription()) ?? null;

/** Ends the notifications of this browser, also if the service cannot be reached. @param {import('./session.js').Session | undefined} session */
export async function endNotifications(session) {
  if (!hasWorker || !('PushManager' in globalThis)) return;
  const subscription = await browserSubscription();
  if (subscription === null) return;
  await subscription.unsubscribe();
  await session?.api.change('DELETE', path, { endpoint: subscription.endpoint });
}

/** Whether a subscription was made with this key. @param {PushSubscription} subscription @param {string} key */
function hasKey({ options }, key) {
  const bytes = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer(0));
  return (
    btoa(String.fromCharCode(...bytes))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '') === key
  );
}

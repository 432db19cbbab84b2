/** The team page as an app: without a connection, and with notifications. */
import type { BrowserContext, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { Forwarder } from '../../support/forwarder.ts';
import { PushService } from '../../support/push-service.ts';
import { startTestService, type TestService } from '../../support/service.ts';

async function openApp(service: TestService, url: string, view: string) {
  const browserPage = await newPage({ serviceWorkers: 'allow', permissions: ['notifications'] });
  const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
  return { ...browserPage, open: () => browserPage.page.goto(`${url}/#code=${code}&view=${view}`) };
}

/** Waits until the service worker controls the page. */
const untilControlled = (page: Page) =>
  eventually('the worker controls the page', () => page.evaluate<boolean>('navigator.serviceWorker.controller !== null'));

/** All URLs that the browser has stored, and all texts. */
const storedFiles = `(async () => {
  const stored = [];
  for (const name of await caches.keys())
    for (const request of await (await caches.open(name)).keys())
      stored.push([new URL(request.url).pathname, await (await caches.match(request)).text()]);
  return stored;
})()`;

/** The page's browser is subscribed at a push service of the test, because Chromium's own is not available to tests. */
const subscribedBrowser = (subscription: object) => `
  const subscription = {
    ...${JSON.stringify(subscription)},
    options: { applicationServerKey: null },
    toJSON: () => (${JSON.stringify(subscription)}),
    unsubscribe: async () => { sessionStorage.removeItem('subscribed'); return true; },
  };
  PushManager.prototype.getSubscription = async () => (sessionStorage.getItem('subscribed') === null ? null : subscription);
  PushManager.prototype.subscribe = async (options) => {
    if (options.userVisibleOnly !== true || options.applicationServerKey.length !== 87) throw new Error('invalid options');
    sessionStorage.setItem('subscribed', 'yes');
    return subscription;
  };`;

/** Delivers pushes to the service worker of the page, as a push service would. */
async function pushesTo(page: Page): Promise<(data: string) => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  const { origin } = new URL(page.url());
  let registrationId: string | undefined;
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    // Other tests of the file have workers too.
    registrationId ??= registrations.find(({ scopeURL }) => scopeURL === `${origin}/`)?.registrationId;
  });
  await session.send('ServiceWorker.enable');
  const knownId = await eventually('the registration is known', () => registrationId);
  return async (data) => void (await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId: knownId, data }));
}

type Notification = { title: string; body: string; tag: string; data: string };

/**
 * The notifications that the browser has shown from now on. They are recorded in the worker: asking Chromium for its notifications at a bad
 * moment removes one that is about to be displayed.
 */
async function shownBy(context: BrowserContext): Promise<() => Promise<Notification[]>> {
  const worker = await eventually('the worker runs', () => context.serviceWorkers()[0]);
  await worker.evaluate(`{
    globalThis.shown = [];
    const show = registration.showNotification.bind(registration);
    registration.showNotification = async (title, options) => {
      await show(title, options);
      shown.push({ title, body: options.body, tag: options.tag, data: options.data });
    };
  }`);
  return () => worker.evaluate<Notification[]>('shown');
}

/** Clicks the notification with this data, as the worker sees it. */
async function click(context: BrowserContext, link: string): Promise<void> {
  const [worker] = context.serviceWorkers();
  await worker?.evaluate(
    `{ const event = new ExtendableEvent('notificationclick'); event.notification = { close() {}, data: ${JSON.stringify(link)} }; event.waitUntil = () => undefined; dispatchEvent(event); }`,
  );
}

describeWithChromium('the team page as an app', () => {
  it('says that there is no connection, continues as soon as there is one, and stores no data of the team', async () => {
    const service = await startTestService();
    await service.waiting('- approve: { id: a, title: A secret request }');
    const proxy = await Forwarder.to(service.service.url);
    const { page, problems, open } = await openApp(service, proxy.url, '/inbox');
    await open();
    await page.getByRole('heading', { name: 'A secret request' }).waitFor();
    await untilControlled(page);
    proxy.goDown();
    await page.reload();
    await page.getByRole('heading', { name: 'No connection' }).waitFor();
    await page.getByRole('status').getByText('The service cannot be reached.').waitFor();
    expect(await page.title()).toBe('No connection · aops');
    expect(await page.getByText('A secret request').count()).toBe(0);
    const stored = await page.evaluate<[string, string][]>(storedFiles);
    expect(stored.map(([path]) => path).filter((path) => path !== '/' && !path.startsWith('/page/'))).toEqual([]);
    expect(stored.length).toBeGreaterThan(25);
    expect(JSON.stringify(stored)).not.toContain('A secret request');
    expect(JSON.stringify(stored)).not.toMatch(/aops_page_/);
    proxy.up = true;
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByRole('heading', { name: 'A secret request' }).waitFor();
    expect(await page.locator('#banner').isHidden()).toBe(true);
    // What the browser itself reports about the outage.
    expect(problems.filter((problem) => !/net::ERR_|503/.test(problem))).toEqual([]);
  });

  it('notifies of a request, opens it with a click that decides nothing, and stops when it is turned off', async () => {
    const [service, pushes] = [await startTestService(), await PushService.start()];
    const { page, problems, open } = await openApp(service, service.service.url, '/inbox');
    await page.addInitScript({ content: subscribedBrowser(pushes.subscribe()) });
    await open();
    await untilControlled(page);
    const turnOn = page.getByRole('button', { name: 'Turn on notifications' });
    await turnOn.focus();
    await page.keyboard.press('Enter');
    const turnOff = page.getByRole('button', { name: 'Turn off notifications' });
    await turnOff.waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Turn off notifications');
    await eventually('the change is announced', async () => (await page.locator('#live').textContent())?.includes('notifies you'));
    await page.reload();
    await turnOff.waitFor();

    const run = await service.waiting('- approve: { id: a, title: "Pay \u202e120 EUR?" }');
    const [push] = await pushes.count(1);
    const notifications = await shownBy(page.context());
    const deliver = await pushesTo(page);
    await deliver(JSON.stringify(push?.payload));
    await eventually('the notification is shown', async () => (await notifications()).length === 1);
    expect(await notifications()).toEqual([
      { title: 'Run #1 waits for you', body: 'Pay  120 EUR?', tag: push?.payload.request_id, data: `/#/runs/${run}` },
    ]);
    // Browsers require that every push is shown.
    await deliver('not JSON');
    await eventually('two notifications', async () => (await notifications()).length === 2);

    await click(page.context(), push?.payload.link ?? '');
    await page.getByRole('button', { name: 'Send decision' }).waitFor();
    // The inbox has such a button, too.
    await eventually('the request is shown', () => new URL(page.url()).hash === `#/runs/${run}`);
    await click(page.context(), 'https://evil.example/');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    expect((await service.get(run)).run.status).toBe('waiting');

    await turnOff.click();
    await turnOn.waitFor();
    await service.waiting('- approve: { id: a, title: Another }');
    await turnOn.click();
    await turnOff.waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await service.waiting('- approve: { id: a, title: One more }');
    expect(pushes.pushes).toHaveLength(1);
    expect(problems).toEqual([]);
  });
});

/** The team page shows events immediately with event streams, and polls if the service does not offer them. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { Forwarder } from '../../support/forwarder.ts';
import { startTestService, type TestService } from '../../support/service.ts';

async function openView(view: string, streams = true): Promise<{ service: TestService; proxy: Forwarder; page: Page; problems: string[] }> {
  const service = await startTestService();
  const proxy = await Forwarder.to(service.service.url);
  proxy.streams = streams;
  const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
  const { page, problems } = await newPage();
  await page.clock.install();
  await page.goto(`${proxy.url}/#code=${code}&view=${view}`);
  await page.getByRole('link', { name: 'Inbox' }).waitFor();
  return { service, proxy, page, problems };
}

/** Opens another view of the page, like a click. */
const goTo = (page: Page, view: string): Promise<unknown> => page.evaluate(`location.hash = ${JSON.stringify(`#${view}`)}`);
const streamsOf = (proxy: Forwarder): string[] => proxy.requests.filter((path) => /\/events(\?|$)/.test(path));
const text = (page: Page, expectedText: string): Promise<void> => page.getByRole('main').getByText(expectedText).first().waitFor();
const answer = async (service: TestService, run: string): Promise<void> => {
  const { request } = await service.get(run);
  await service.api('POST', `/runs/${run}/human-requests/${request?.id}/respond`, { approved: true });
};

describeWithChromium('the team page with streams of events', () => {
  it('shows requests, runs, and messages when they arrive, and makes hardly any requests while nothing happens', async () => {
    const { service, proxy, page, problems } = await openView('/inbox');
    await eventually('the stream of the team', () => streamsOf(proxy).length === 1);
    await text(page, 'Nothing is waiting for you');
    const run = await service.waiting('- approve: { id: a, title: Pay it? }\n- say: Paid.');
    await text(page, 'Pay it?');
    await goTo(page, `/runs/${run}`);
    await eventually('the stream of the run', () => streamsOf(proxy).some((path) => path.includes(`/runs/${run}/events?from=now`)));
    await text(page, 'Pay it?');
    /** Everything that the page requests in this time, which passes at once. */
    const requestsIn = async (milliseconds: number): Promise<string[]> => {
      const before = proxy.requests.length;
      await page.clock.runFor(milliseconds);
      // By the time this one has been answered, the others have arrived.
      await page.evaluate("fetch('/healthz')");
      return proxy.requests.slice(before).filter((path) => path !== '/healthz');
    };
    await eventually('the page is at rest', async () => (await requestsIn(1_000)).length === 0);
    // Longer than the polling interval.
    expect(await requestsIn(20_000)).toEqual([]);
    await answer(service, run);
    await text(page, 'Paid.');
    await text(page, 'Completed');
    expect(problems).toEqual([]);
  });

  it('continues after the streams broke', async () => {
    const { service, proxy, page } = await openView('/');
    const run = await service.waiting('- approve: { id: a, title: Pay it? }\n- say: Paid.');
    await goTo(page, `/runs/${run}`);
    await text(page, 'Pay it?');
    await eventually('both streams', () => streamsOf(proxy).length >= 2);
    proxy.goDown();
    await answer(service, run);
    proxy.up = true;
    await text(page, 'Paid.');
  });
});

describeWithChromium('the team page without streams of events', () => {
  it('polls, and requests each stream once', async () => {
    const { service, proxy, page } = await openView('/inbox', false);
    const run = await service.waiting('- approve: { id: a, title: Pay it? }\n- say: Paid.');
    await text(page, 'Pay it?');
    await goTo(page, `/runs/${run}`);
    await text(page, 'Pay it?');
    await answer(service, run);
    await text(page, 'Paid.');
    expect(streamsOf(proxy)).toHaveLength(2);
  });
});

/** Filters in the addresses of the team page, as `--web` writes them. */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
let payer: string;
let waiting: string;
beforeAll(async () => {
  service = await startTestService();
  payer = await service.agent('- approve: { id: a, title: "Pay?" }', 'Payer of <b>invoices</b>');
  waiting = await service.start(payer, 'March');
  await service.until(waiting, 'waiting');
  await service.waiting('- ask: { id: q, title: "Which one?", questions: [{ question: Which? }] }');
  const done = await service.run('- say: hi', 'Done');
  await service.until(done, 'completed');
});

async function openView(view: string): Promise<{ page: Page; problems: string[] }> {
  const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
  const browserPage = await newPage();
  await browserPage.page.goto(`${service.service.url}/#code=${code}&view=${encodeURIComponent(view)}`);
  await browserPage.page.getByRole('link', { name: 'Inbox' }).waitFor();
  return browserPage;
}

const hashOf = (page: Page): string => new URL(page.url()).hash;
const rows = (page: Page, list: string) => page.getByRole('list', { name: list, exact: true }).getByRole('listitem');

describeWithChromium('filters in the address', () => {
  it('apply to the runs, can be removed with the keyboard, and stay in the address', async () => {
    const { page, problems } = await openView(`/?agent=${payer}&since=2026-01-01T00:00:00Z&colour=red&status=waiting`);
    expect(hashOf(page)).toBe(`#/?agent=${payer}&since=2026-01-01T00:00:00Z&colour=red&status=waiting`);
    await page.getByText('1 run', { exact: true }).waitFor();
    expect(await page.getByLabel('Show', { exact: true }).inputValue()).toBe('waiting');
    await page.getByText('Agent: Payer of <b>invoices</b>').waitFor();
    await page.getByText('Unknown filter, not applied: colour').waitFor();
    // The field changes the address as well, and the filters come back after another view.
    await page.getByLabel('Show', { exact: true }).selectOption('completed');
    await page.getByRole('heading', { name: 'No matching runs' }).waitFor();
    expect(hashOf(page)).toContain('status=completed');
    await page.getByLabel('Show', { exact: true }).selectOption('');
    await page.getByRole('link', { name: 'Pay?' }).click();
    await page.getByRole('heading', { name: /Payer.*#\d+/ }).waitFor();
    await page.goBack();
    await page.getByText('1 run', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Board' }).click();
    await page.getByRole('heading', { name: 'Board' }).waitFor();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByText('1 run', { exact: true }).waitFor();
    expect(hashOf(page)).toContain(`agent=${payer}`);
    await page.getByRole('button', { name: 'Remove the filter Agent: Payer' }).press('Enter');
    await page.getByText('3 runs', { exact: true }).waitFor();
    // The focus moves to the next filter, and at the end to the heading.
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove the filter Unknown filter, not applied: colour' }).press('Enter');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    expect(hashOf(page)).toBe('#/');
    expect(problems).toEqual([]);
  });

  it('that the service refuses are reported and can be removed', async () => {
    const { page } = await openView('/?severity=terrible');
    await page.getByRole('heading', { name: 'These filters are not valid' }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter With terrible issues' }).click();
    await page.getByText('3 runs', { exact: true }).waitFor();
  });

  it('can be removed while the service checks them', async () => {
    const { page } = await openView('/?severity=terrible');
    await page.getByRole('heading', { name: 'These filters are not valid' }).waitFor();
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/issue_severity=terrible/, async (route) => {
      await answered;
      // The page may no longer wait for the answer.
      await route.continue().catch(() => undefined);
    });
    const request = page.waitForRequest(/issue_severity=terrible/);
    await page.evaluate('dispatchEvent(new Event("online"))');
    await request;
    await page.getByRole('button', { name: 'Remove the filter With terrible issues' }).click();
    answer();
    await page.getByText('3 runs', { exact: true }).waitFor();
  });

  it('apply to the inbox', async () => {
    const { page } = await openView(`/inbox?agent=${payer}&type=approval&older-than=0`);
    await page.getByText('1 request to answer').waitFor();
    await page.getByRole('heading', { name: 'Pay?' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Which one?' }).count()).toBe(0);
    await page.goto(`${service.service.url}/#/inbox?run=${waiting}&type=question`);
    await page.getByRole('heading', { name: 'No matching requests' }).waitFor();
    await page.getByRole('button', { name: /Remove the filter Run: #\d/ }).click();
    await page.getByRole('heading', { name: 'Which one?' }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter Only questions' }).click();
    await page.getByRole('heading', { name: 'Pay?' }).waitFor();
    // Oldest first, although it was added later.
    expect(await page.getByRole('article').getByRole('heading').allTextContents()).toEqual(['Pay?', 'Which one?']);
    await page.goto(`${service.service.url}/#/inbox?older-than=86400`);
    await page.getByText('Waiting for at least 1 d 0 h').waitFor();
    await page.getByRole('heading', { name: 'No matching requests' }).waitFor();
  });

  it('apply to the cases of a queue', async () => {
    const team = `/teams/${service.service.teamId}`;
    const { queue } = await service.api<{ queue: { id: string } }>('POST', `${team}/queues`, { name: 'Invoices' });
    const labelled = (value: string) => [{ key: 'vendor', value }];
    await service.api('POST', `/queues/${queue.id}/cases`, {
      cases: [
        { title: 'One', data: '', labels: labelled('acme'), priority: 'high' },
        { title: 'Two', data: '', labels: labelled('zeta'), priority: 'high' },
        { title: 'Three', data: '', labels: labelled('other') },
      ],
    });
    const { page } = await openView(`/queues/${queue.id}?status=pending,failed&label=vendor=acme&label=vendor=zeta&priority=high`);
    await page.getByText('2 cases', { exact: true }).waitFor();
    expect(await page.getByLabel('Show', { exact: true }).locator('option:checked').textContent()).toBe('Pending, Failed');
    await page.getByRole('button', { name: 'Remove the filter Label: vendor=acme' }).click();
    await page.getByText('1 case', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter Label: vendor=zeta' }).click();
    await page.getByText('2 cases', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter Priority: high' }).click();
    await page.getByText('3 cases', { exact: true }).waitFor();
    expect(hashOf(page)).toBe(`#/queues/${queue.id}?status=pending%2Cfailed`);
    await page.goto(`${service.service.url}/#/queues/${queue.id}?priority=extreme`);
    await page.getByRole('heading', { name: 'These filters are not valid' }).waitFor();
  });

  it('apply to the board and to schedules, and choose the revision to compare with', async () => {
    const { page, problems } = await openView(`/board?agent=${payer}&outcome=failed`);
    await eventually('the agent is chosen', async () => (await page.getByLabel('Agent', { exact: true }).inputValue()) === payer);
    expect(await page.getByLabel('Outcome of ended runs').inputValue()).toBe('failed');
    const waitingRuns = page.getByRole('region', { name: 'Waiting for you' }).getByRole('listitem');
    // The board asks for the runs after the agents.
    await waitingRuns.first().waitFor();
    expect(await waitingRuns.count()).toBe(1);

    const other = await service.agent('- say: hi', 'Scheduled');
    for (const agent of [payer, other])
      await service.api('POST', `/agents/${agent}/schedules`, { enabled: true, frequency: 'daily', time: '08:30', timezone: 'UTC' });
    await page.goto(`${service.service.url}/#/schedules?agent=${other}`);
    await page.getByText('1 schedule', { exact: true }).waitFor();
    expect(await rows(page, 'Schedules').allTextContents()).toEqual([expect.stringContaining('Scheduled')]);
    await page.getByRole('button', { name: 'Remove the filter Agent: Scheduled' }).click();
    await page.getByText('2 schedules', { exact: true }).waitFor();

    const { builds } = await service.api<{ builds: { id: string; config: { data: { input: string } } }[] }>(
      'GET',
      `/agents/${other}/revisions`,
    );
    const ids = [builds[0]?.id];
    for (const text of ['ho', 'hey']) {
      const config = structuredClone(builds[0]?.config as { data: { input: string } });
      config.data.input = config.data.input.replace('hi', text);
      const body = { name: text, config, source_build_id: ids.at(-1) };
      ids.push((await service.api<{ build: { id: string } }>('POST', `/agents/${other}/revisions`, body)).build.id);
    }
    await page.goto(`${service.service.url}/#/agents/${other}/revisions/${ids[2]}?compare=${ids[0]}`);
    await page.getByText('Changes since revision 1: 1 line added, 1 line removed').waitFor();
    await page.goto(`${service.service.url}/#/agents/${other}/revisions/${ids[2]}?compare=${randomUUID()}`);
    await page.getByText('The revision to compare with was not found.').waitFor();
    await page.getByText('Changes since revision 2').waitFor();
    expect(problems).toEqual([]);
  });
});

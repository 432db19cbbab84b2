/** Starting runs, the board, and agents on the team page. */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

async function openView(view: string, options = {}): Promise<{ page: Page; problems: string[] }> {
  const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
  const browserPage = await newPage(options);
  await browserPage.page.goto(`${service.service.url}/#code=${code}&view=${view}`);
  await browserPage.page.getByRole('link', { name: 'Inbox' }).waitFor();
  return browserPage;
}

/** The network is back: the page reads immediately instead of at its next poll. */
const nudge = (page: Page) => page.evaluate('dispatchEvent(new Event("online"))');

/** Everything that a person can operate in the main part of the page, as a screen reader announces it: role and name. */
const controls = (page: Page) =>
  page
    .getByRole('main')
    .ariaSnapshot()
    .then((text) =>
      [...text.matchAll(/^\s*- '?(link|button|combobox|textbox|searchbox|checkbox|radio)(?: "([^"]*)")?/gm)].map(([, role, name]) =>
        `${role} ${name ?? ''}`.trim(),
      ),
    );

/** The width of a phone must not be exceeded. */
const fitsPhone = async (page: Page) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await eventually('the page fits a phone', async () => (await page.evaluate('document.documentElement.scrollWidth')) === 360);
};

describeWithChromium('starting a run', () => {
  it('chooses an agent, writes a message, uploads files, and opens the run, with the keyboard alone', async () => {
    const agent = await service.agent('- exec: { run: cat note.txt "two words.txt" }\n- say: "{{ message }}"', 'Reader of files');
    await service.agent('- say: hi', 'Another agent');
    const { page, problems } = await openView('/');
    await page.getByRole('link', { name: 'Start a run' }).press('Enter');
    await page.getByRole('heading', { name: 'Start a run' }).waitFor();
    expect(page.url()).toBe(`${service.service.url}/#/start`);
    await page.getByLabel('Agent').waitFor();
    expect(await controls(page)).toEqual(['combobox Agent', 'textbox Message (optional)', 'button Files (optional)', 'button Start run']);
    // Nothing is preselected when there are several agents.
    await page.getByRole('button', { name: 'Start run' }).press('Enter');
    await page.getByText('Choose an agent.').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('start-agent');
    expect(await page.getByLabel('Agent').getAttribute('aria-invalid')).toBe('true');
    await page.keyboard.type('Reader');
    await page.getByLabel('Files (optional)').setInputFiles([
      { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('kept ') },
      { name: 'two words.txt', mimeType: 'text/plain', buffer: Buffer.from('both') },
      { name: 'wrong.txt', mimeType: 'text/plain', buffer: Buffer.from('no') },
    ]);
    await page.getByRole('button', { name: 'Remove wrong.txt' }).press('Enter');
    await page.getByRole('listitem').filter({ hasText: 'wrong.txt' }).waitFor({ state: 'detached' });
    await page.getByLabel('Message (optional)').fill('Read <b>both</b>');
    // What was written survives another view and new data.
    await page.getByRole('link', { name: 'Inbox' }).click();
    await page.goBack();
    expect(await page.getByLabel('Message (optional)').inputValue()).toBe('Read <b>both</b>');
    await fitsPhone(page);
    await page.getByLabel('Agent').selectOption({ label: 'Reader of files' });
    await page.getByLabel('Files (optional)').setInputFiles([
      { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('kept ') },
      { name: 'two words.txt', mimeType: 'text/plain', buffer: Buffer.from('both') },
    ]);
    await page.getByLabel('Message (optional)').press('Control+Enter');
    await page.getByRole('heading', { name: /Reader of files #\d+/ }).waitFor();
    await page.getByRole('main').getByText('Completed').first().waitFor();
    const run = new URL(page.url()).hash.replace('#/runs/', '');
    expect(await service.texts(run)).toContain('Read <b>both</b>');
    expect(JSON.stringify(await service.messages(run))).toContain('kept both');
    expect((await service.get(run)).run.agent_id).toBe(agent);
    expect(problems).toEqual([]);
  });

  it('starts one run when the response is lost and the button is pressed again', async () => {
    const agent = await service.agent('- say: hi', 'Counted once');
    const before = await service.countRuns();
    const { page } = await openView(`/start/${agent}`);
    let lost = 0;
    await page.route('**/v2/teams/*/runs', async (route) => {
      if (route.request().method() !== 'POST' || lost++ > 0) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Start run' }).click();
    await page.getByRole('alert').getByText('No response arrived').waitFor();
    await page.getByRole('button', { name: 'Start run' }).click();
    await page.getByRole('heading', { name: /Counted once #\d+/ }).waitFor();
    expect(await service.countRuns()).toBe(before + 1);
  });

  it('cannot be changed while it is sent, and does not call back a person who has moved on', async () => {
    const agent = await service.agent('- say: hi', 'Slow start');
    const { page } = await openView(`/start/${agent}`);
    let deliver = (): void => undefined;
    const isTime = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    await page.route('**/v2/teams/*/runs', async (route) => {
      if (route.request().method() === 'POST') await isTime;
      await route.continue();
    });
    const message = page.getByLabel('Message (optional)');
    await message.fill('a message');
    await message.press('Control+Enter');
    await page.getByText('Starting the run…').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Start run');
    await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate('document.querySelector("form").contains(document.activeElement)')).toBe(false);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    deliver();
    await page.getByText('The run was started.').waitFor({ state: 'attached' });
    expect(new URL(page.url()).hash).toBe('#/usage');
  });

  it('is not offered to a token that cannot start runs', async () => {
    const { secret } = await service.api<{ secret: string }>('POST', '/local/tokens', {
      name: `reader ${randomUUID()}`,
      scopes: ['runs:read'],
    });
    const { page } = await newPage();
    await page.goto(`${service.service.url}/#/start`);
    await page.getByLabel('Or paste a token of your team').fill(secret);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Not permitted' }).waitFor();
    expect(await page.getByRole('button', { name: 'Start run' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    expect(await page.getByRole('link', { name: 'Start a run' }).count()).toBe(0);
  });
});

describeWithChromium('the board', () => {
  it('shows runs by what they are doing, moves them when that changes, and filters them', async () => {
    const agent = await service.agent('- approve: { id: a, title: "Pay \u202e9 EUR?" }', 'Payer');
    const waiting = await service.start(agent);
    await service.until(waiting, 'waiting');
    const working = await service.run('- exec: { run: sleep 300, timeout: 9m }', 'long work');
    await service.until(working, 'running');
    await service.agent('- say: hi', 'Reconciliation of the invoices of all suppliers in the northern region');
    const { page, problems } = await openView('/board');
    const column = (name: string) => page.getByRole('region', { name });
    await column('Waiting for you')
      .getByRole('link', { name: /Pay ⟨U\+202E⟩9 EUR\?.*Payer.*waiting for less than 1 min/ })
      .waitFor();
    await column('Working')
      .getByRole('link', { name: /long work.*running for/ })
      .waitFor();
    await column('Queued').getByText('No run is queued.').waitFor();
    // A run that is answered moves to the ended ones, and the focus does not start at the top.
    const another = await service.waiting('- approve: { id: a, title: Sign it? }');
    await nudge(page);
    await column('Waiting for you')
      .getByRole('link', { name: /Sign it/ })
      .waitFor();
    await eventually('the request is announced', async () => (await page.locator('#live').textContent())?.includes('Sign it?'));
    await service.api('POST', `/runs/${another}/stop`, {});
    const card = column('Waiting for you').getByRole('link', { name: /Pay/ });
    await card.focus();
    const { request } = await service.get(waiting);
    await service.api('POST', `/runs/${waiting}/human-requests/${request?.id}/respond`, { approved: true });
    await service.until(waiting, 'completed');
    await nudge(page);
    await column('Ended recently')
      .getByRole('link', { name: /Completed.*Payer/ })
      .waitFor();
    await column('Waiting for you').getByText('Nothing waits for you.').waitFor();
    await page.getByLabel('Agent', { exact: true }).selectOption({ label: 'Payer' });
    await column('Working').getByText('No run is working.').waitFor();
    await page.getByLabel('Outcome of ended runs').selectOption('failed');
    await column('Ended recently').getByText('No run has ended yet.').waitFor();
    expect((await controls(page)).slice(0, 2)).toEqual(['combobox Agent', 'combobox Outcome of ended runs']);
    await page.getByLabel('Agent', { exact: true }).selectOption('');
    await fitsPhone(page);
    await column('Working')
      .getByRole('link', { name: /long work/ })
      .press('Enter');
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Board' }).waitFor();
    await service.api('POST', `/runs/${working}/stop`, {});
    expect(problems).toEqual([]);
  });
});

describeWithChromium('an agent', () => {
  it('shows its revisions and what each of them changed, and leads to a run', async () => {
    const agent = await service.agent('- say: one\n- say: two\n- say: "<img src=x onerror=alert(1)>"', 'Revised');
    const { builds } = await service.api<{ builds: { id: string; config: { data: { input: string } } }[] }>(
      'GET',
      `/agents/${agent}/revisions`,
    );
    const [first] = builds;
    const config = structuredClone(first?.config as { data: { input: string } });
    config.data.input = config.data.input.replace('say: two', 'say: \u202ezwei');
    const { build } = await service.api<{ build: { id: string } }>('POST', `/agents/${agent}/revisions`, {
      name: 'German',
      config,
      source_build_id: first?.id,
    });
    const { page, problems } = await openView('/agents');
    await page.getByRole('link', { name: /Revised.*no runs yet/ }).press('Enter');
    await page.getByRole('heading', { name: 'Revised', level: 1 }).waitFor();
    const main = page.getByRole('main');
    await main.getByText('This is the first revision.').waitFor();
    await main.getByLabel('Procedure').getByText('<img src=x onerror=alert(1)>').waitFor();
    await main.getByRole('link', { name: /Revision 2: German/ }).press('Enter');
    await main.getByText('Changes since revision 1: 1 line added, 1 line removed').waitFor();
    expect(new URL(page.url()).hash).toBe(`#/agents/${agent}/revisions/${build.id}`);
    expect(await main.locator('pre.diff .added, pre.diff .removed').allTextContents()).toEqual([
      '-  - say: two\n',
      '+  - say: ⟨U+202E⟩zwei\n',
    ]);
    expect(await main.getByRole('link', { name: /Revision 2/ }).getAttribute('aria-current')).toBe('page');
    expect(await controls(page)).toEqual([
      'link Agents',
      'link Start a run',
      expect.stringMatching(/^link Revision 2/),
      expect.stringMatching(/^link Revision 1/),
    ]);
    await fitsPhone(page);
    await page.goBack();
    await main.getByText('This is the first revision.').waitFor();
    await main.getByRole('link', { name: 'Start a run' }).click();
    await eventually('the agent is chosen', async () => (await page.getByLabel('Agent').inputValue()) === agent);
    await page.goto(`${service.service.url}/#/agents/${randomUUID()}`);
    await page.getByRole('heading', { name: 'This agent was not found' }).waitFor();
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([]);
  });
});

describeWithChromium('queues, schedules, and usage', () => {
  it('show cases with their data, runs, and history, also on a phone', async () => {
    const team = `/teams/${service.service.teamId}`;
    const { queue } = await service.api<{ queue: { id: string } }>('POST', `${team}/queues`, {
      name: 'Invoices',
      description: 'Of <b>suppliers</b>',
    });
    const { added_cases: cases } = await service.api<{ added_cases: { id: string }[] }>('POST', `/queues/${queue.id}/cases`, {
      cases: [
        {
          title: 'Invoice \u202e4711',
          priority: 'high',
          data: '{"amount":120,"note":"<i>x</i>"}',
          labels: [{ key: 'vendor', value: 'Acme' }],
        },
        { title: 'Invoice 12', data: 'plain' },
      ],
    });
    const { page, problems } = await openView('/queues');
    const main = page.getByRole('main');
    await page.getByRole('link', { name: /Invoices.*2 open cases.*Of <b>suppliers<\/b>/ }).press('Enter');
    await page.getByRole('heading', { name: 'Invoices', level: 1 }).waitFor();
    await main.getByRole('link', { name: /Invoice ⟨U\+202E⟩4711.*Pending.*high priority.*vendor: Acme/ }).waitFor();
    expect(await controls(page)).toEqual([
      'link Queues',
      'combobox Show',
      'searchbox Search cases',
      expect.stringMatching(/^link Invoice/),
      expect.stringMatching(/^link Invoice/),
    ]);
    await page.getByLabel('Search cases').fill('no such case');
    await main.getByText('No matching cases').waitFor();
    await page.getByLabel('Search cases').fill('4711');
    await main.getByRole('link', { name: /Invoice 12/ }).waitFor({ state: 'detached' });
    await fitsPhone(page);
    await main.getByRole('link', { name: /4711/ }).press('Enter');
    await page.getByRole('heading', { name: 'Invoice ⟨U+202E⟩4711' }).waitFor();
    expect(await main.getByLabel('Data', { exact: true }).textContent()).toBe('{\n  "amount": 120,\n  "note": "<i>x</i>"\n}');
    await main.getByText('No run has worked on this case yet.').waitFor();
    await main.getByRole('list', { name: 'History' }).getByText('Created').waitFor();
    expect(new URL(page.url()).hash).toBe(`#/cases/${cases[0]?.id}`);
    expect(await page.getByRole('link', { name: 'Queues' }).first().getAttribute('aria-current')).toBe('page');
    await fitsPhone(page);
    await page.getByRole('link', { name: 'Queue', exact: true }).click();
    await page.getByRole('heading', { name: 'Invoices', level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });

  it('show when runs are started, and what the team has used', async () => {
    const agent = await service.agent('- say: hi', 'Early bird');
    const times = { frequency: 'workday', time: '08:30', timezone: 'Europe/Berlin' };
    await service.api('POST', `/agents/${agent}/schedules`, { enabled: true, ...times, task: 'Look for invoices' });
    const { page, problems } = await openView('/schedules');
    const row = page.getByRole('link', {
      name: /Early bird: Look for invoices.*On.*workday at 08:30, Europe\/Berlin.*next run (in|tomorrow)/,
    });
    await row.waitFor();
    await fitsPhone(page);
    await row.press('Enter');
    await page.getByRole('heading', { name: 'Early bird' }).waitFor();
    await page.getByRole('link', { name: 'Usage' }).press('Enter');
    const runs = await service.countRuns();
    await page.getByText('Runs in this period').waitFor();
    await page.getByRole('main').getByText(`${runs}, without a limit`).waitFor();
    await fitsPhone(page);
    // The current one of the links, which scroll sideways on a phone, is in view.
    await eventually('the link is in view', () =>
      page.evaluate<boolean>('document.querySelector(".bar [aria-current]").getBoundingClientRect().right <= 360'),
    );
    // What an agent reports about its cost.
    const run = await service.run('- say: hi');
    await page.route(`**/v2/agent/*/runs/${run}`, async (route) => {
      const detail = await (await route.fetch()).json();
      const usage = { context_tokens: 1, context_size: 2, cost: { amount: 0.1234, currency: 'USD' } };
      await route.fulfill({ json: { ...detail, agent_session: { name: 'a', version: '1', mode: null, asks: null, usage } } });
    });
    await page.goto(`${service.service.url}/#/runs/${run}`);
    await page.getByRole('main').getByText('cost $0.1234').waitFor();
    expect(problems).toEqual([]);
  });
});

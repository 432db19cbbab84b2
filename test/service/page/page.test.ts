/** The team page in a real browser, against a real service. */
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

const code = async (): Promise<string> => (await service.api<{ code: string }>('POST', '/local/page-codes')).code;

/** The page at a view, signed in. */
async function openView(view = '/', options = {}): Promise<{ page: Page; problems: string[] }> {
  const browserPage = await newPage(options);
  await browserPage.page.goto(`${service.service.url}/#code=${await code()}&view=${view}`);
  await browserPage.page.getByRole('link', { name: 'Inbox' }).waitFor();
  return browserPage;
}

const lastAnswer = async (run: string) => (await service.messages(run)).findLast(({ type }) => type === 'human_response')?.text_content;
const respond = async (run: string, body: unknown): Promise<void> => {
  const { request } = await service.get(run);
  await service.api('POST', `/runs/${run}/human-requests/${request?.id}/respond`, body);
};
/** Waits for a condition that Playwright cannot wait for because of the page's content security policy. */
const isTrue = (page: Page, expression: string) => eventually(expression, () => page.evaluate<boolean>(expression));
/** The network is back: the page reads immediately instead of at its next poll. */
const nudge = (page: Page) => page.evaluate('dispatchEvent(new Event("online"))');
/** Waits until a request has been visible long enough for its button to work. */
const untilSettled = (page: Page, name: string) => page.getByRole('button', { name, disabled: false }).waitFor();
/** A step that runs until the run is stopped. */
const endlessStep = '- exec: { run: sleep 300, timeout: 9m }';

describeWithChromium('the team page', () => {
  it('signs in once with a code that leaves no trace, and signs out', async () => {
    const { page, problems } = await newPage();
    const url = `${service.service.url}/#code=${await code()}&view=/inbox`;
    await page.goto(url);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    expect(page.url()).toBe(`${service.service.url}/#/inbox`);
    const token = (await page.evaluate('sessionStorage.getItem("aops.token")')) as string;
    expect(token).toMatch(/^aops_page_/);
    expect(await page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    // After a reload, it is still signed in.
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(problems).toEqual([]);
    await eventually('the session has ended', async () => {
      const answer = await fetch(`${service.service.url}/v2/local/credential`, { headers: { authorization: `Bearer ${token}` } });
      return answer.status === 401;
    });
    const second = await newPage();
    await second.page.goto(url);
    expect(await second.page.getByRole('alert').textContent()).toContain('already been used');
  });

  it('signs in with a pasted token, and shows what it allows', async () => {
    const run = await service.waiting('- approve: { id: a, title: Pay it? }');
    const { secret } = await service.api<{ secret: string }>('POST', '/local/tokens', { name: 'looker', scopes: ['runs:read'] });
    const { page } = await newPage();
    await page.goto(`${service.service.url}/#/runs/${run}`);
    const field = page.getByLabel('Or paste a token of your team');
    await field.fill('aops_token_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('main').getByText('does not accept this token').waitFor();
    await field.fill(secret);
    await field.press('Enter');
    // The view of the original address.
    await page.getByRole('main').getByText('Pay it?').waitFor();
    await page.getByRole('main').getByText('lacks the scope approvals:write').waitFor();
    expect(await page.getByRole('button', { name: /Send|Stop/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByRole('main').getByText('Your token needs the scope files:read to show files.').waitFor();
    await respond(run, { approved: true });
  });

  it('lists runs as they arrive, finds them, and links to them', async () => {
    const { page, problems } = await openView();
    const run = await service.run('- say: hi', 'the quick 請求書 fox');
    const row = page.getByRole('link', { name: 'the quick 請求書 fox' });
    await nudge(page);
    await row.waitFor();
    // A run without a title shows its agent and number, and only once.
    await service.run('- say: hi');
    await nudge(page);
    const untitledItem = page.getByRole('listitem').first();
    await eventually('the run without a title', async () => /^\S+ #\d+$/.test(await untitledItem.locator('.title').innerText()));
    expect(await untitledItem.locator('.by').innerText()).not.toContain('#');
    await page.getByLabel('Search runs').fill('no such run');
    await page.getByRole('main').getByText('No matching runs').waitFor();
    await page.getByLabel('Search runs').fill('quick');
    await row.waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('failed');
    await page.getByRole('main').getByText('No matching runs').waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('');
    await row.click();
    await page.getByRole('main').getByText('Completed').first().waitFor();
    expect(page.url()).toBe(`${service.service.url}/#/runs/${run}`);
    // The list also said so until the run was there.
    await eventually('the title of the run', async () => /agent-\d+ #\d+ · Local · aops/.test(await page.title()));
    await page.goBack();
    await row.waitFor();
    expect(problems).toEqual([]);
  });

  it('adds to the timeline without changing existing entries, and scrolls along only at its end', async () => {
    const run = await service.waiting(
      `- say: "${'A first line that is quite long. '.repeat(80)}"\n- ask: { id: a, title: Go on, questions: [{ question: Go on? }] }\n- say: "${'second '.repeat(400)}"\n- say: the very last words\n${endlessStep}`,
    );
    const { page, problems } = await openView(`/runs/${run}`);
    await page.getByRole('heading', { name: 'Go on' }).waitFor();
    await page.evaluate('document.querySelector(".said").dataset.mine = "yes"; scrollTo({ top: 0, behavior: "instant" })');
    await respond(run, { answers: { 'Go on?': 'yes' } });
    await page.getByRole('main').getByText('the very last words').waitFor();
    // It was read from the beginning, so it stays there and announces new entries.
    expect(await page.evaluate('scrollY')).toBe(0);
    expect(await page.evaluate('document.querySelector(".said").dataset.mine')).toBe('yes');
    await page.getByRole('button', { name: /\d+ new/ }).click();
    await isTrue(page, 'document.documentElement.scrollHeight - innerHeight - scrollY < 5');
    await eventually('who listens is told', async () => (await page.locator('#live').textContent())?.includes('the very last words'));
    await service.api('POST', `/runs/${run}/messages`, { message: 'a word in between' });
    await page.getByRole('main').getByText('a word in between').waitFor();
    await isTrue(page, 'document.documentElement.scrollHeight - innerHeight - scrollY < 5');
    // Stopping needs confirmation and can be cancelled.
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await page.getByRole('main').getByText('The run was stopped.').waitFor();
    expect((await service.get(run)).run.status).toBe('interrupted');
    expect(problems).toEqual([]);
  });

  it('shows every message, also if a part of them could not be read at first, or earlier ones are requested twice', async () => {
    const run = await service.run(Array.from({ length: 420 }, (_, index) => `- say: word ${index}`).join('\n'));
    await service.until(run, 'completed');
    const { total } = await service.api<{ total: number }>('GET', `/runs/${run}/messages?limit=1`);
    const { page } = await openView();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    let isBack = false;
    await page.route(new RegExp(`/messages\\?.*offset=${total - 150}`), (route) =>
      isBack ? route.continue() : route.abort('connectionreset'),
    );
    await page.evaluate(`location.hash = '#/runs/${run}'`);
    await page.getByText('The service cannot be reached.').waitFor();
    isBack = true;
    await nudge(page);
    await page.getByText('word 419', { exact: true }).waitFor();
    expect(await page.locator('.timeline > li').count()).toBe(200);
    await page.evaluate('const button = document.querySelector(".earlier"); button.click(); button.click()');
    await page.getByRole('button', { name: `Show 100 of ${total - 300} earlier messages` }).waitFor();
    expect(await page.locator('.timeline > li').count()).toBe(300);
  });

  it('shows the files of another turn, even if the whole turn lay between two reads', async () => {
    const run = await service.run('- write: { path: "{{ message }}.txt", content: x }', 'one');
    await service.until(run, 'completed');
    const { page } = await openView(`/runs/${run}/files`);
    await page.getByRole('link', { name: 'one.txt' }).waitFor();
    const { completed_at: firstEnd } = (await service.get(run)).run;
    let readOn = (): void => undefined;
    const isTime = new Promise<void>((resolve) => {
      readOn = resolve;
    });
    await page.route(
      ({ pathname }) => pathname === `/v2/runs/${run}`,
      async (route) => {
        await isTime;
        await route.continue();
      },
    );
    const reading = page.waitForRequest((request) => new URL(request.url()).pathname === `/v2/runs/${run}`);
    await nudge(page);
    await reading;
    await service.api('POST', `/runs/${run}/messages`, { message: 'two' });
    await eventually('the second turn has ended', async () => {
      const { status, completed_at: end } = (await service.get(run)).run;
      return status === 'completed' && end !== firstEnd;
    });
    readOn();
    await page.getByRole('link', { name: 'two.txt' }).waitFor();
  });

  it('keeps the focus near an element that disappears, and does not steal it', async () => {
    const run = await service.run(Array.from({ length: 350 }, (_, index) => `- say: word ${index}`).join('\n'));
    await service.until(run, 'completed');
    const { page, problems } = await openView(`/runs/${run}`);
    const focusedElement = () => page.evaluate<string>('document.activeElement.className || document.activeElement.localName');
    const earlierButton = page.getByRole('button', { name: /earlier messages/ });
    await earlierButton.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show 50 of 50 earlier messages' }).waitFor();
    expect(await focusedElement()).toBe('plain earlier');
    await page.keyboard.press('Enter');
    await earlierButton.waitFor({ state: 'hidden' });
    await eventually('the focus is above what came', async () => (await focusedElement()) === 'timeline-place');
    // After a click on an empty area, nothing should have the focus.
    await page.getByRole('heading', { level: 1 }).focus();
    await page.evaluate('document.activeElement.blur()');
    await page.evaluate('document.querySelector("h1").hidden = true');
    expect(await focusedElement()).toBe('body');

    const stayingRun = await service.waiting('- approve: { id: a, title: Staying }');
    const leavingRuns = [];
    for (const title of ['Leaving too', 'Leaving soon'])
      leavingRuns.push(await service.waiting(`- approve: { id: a, title: ${title} }\n- say: done`));
    await page.goto(`${service.service.url}/#/`);
    await page.getByLabel('Show', { exact: true }).selectOption('waiting');
    await page.getByRole('link', { name: 'Leaving soon' }).focus();
    for (const run of leavingRuns) await respond(run, { approved: true });
    await nudge(page);
    await page.getByRole('link', { name: 'Leaving soon' }).waitFor({ state: 'detached' });
    await eventually('the focus is on another run', async () => (await focusedElement()) === 'run');
    expect(problems).toEqual([]);
    await respond(stayingRun, { approved: true });
  });

  it('shows the number of waiting requests, even if there are more than it reads at once, and does not break words on a phone', async () => {
    const ownService = await startTestService();
    const askingAgent = await ownService.agent('- approve: { id: a, title: "Pay?" }');
    for (let count = 0; count < 102; count++) await ownService.start(askingAgent);
    await eventually('all wait', async () => {
      const { total } = await ownService.api<{ total: number }>('GET', `/teams/${ownService.service.teamId}/runs?status=waiting&limit=1`);
      return total === 102;
    });
    const { page } = await newPage({ viewport: { width: 320, height: 640 } });
    const { code } = await ownService.api<{ code: string }>('POST', '/local/page-codes');
    await page.goto(`${ownService.service.url}/#code=${code}&view=/inbox`);
    await page.getByText('100 of 102 requests to answer').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    const heights = await page.evaluate<number[]>(
      '[...document.querySelectorAll(".bar .brand, .bar nav a, .bar .sign-out")].map((e) => { const r = document.createRange(); r.selectNodeContents(e.firstChild); return r.getClientRects().length; })',
    );
    expect(heights.length).toBeGreaterThan(4);
    expect(new Set(heights)).toEqual(new Set([1]));
  });

  it('answers approvals, options, several options, and texts with the keyboard alone', async () => {
    const steps = `
- approve: { id: yes, title: "Pay 120 EUR?", on_deny: continue }
- approve: { id: no, title: "Pay 9,000 EUR?", on_deny: continue }
- ask:
    id: all
    title: Details
    questions:
      - { question: Which vendor?, options: [{ label: Acme GmbH, description: Hamburg }, { label: "Acme, Inc" }] }
      - { question: Which centres?, multi_select: true, options: [{ label: Product }, { label: "Rome, Italy" }, { label: Ops }] }
      - { question: A note? }
- say: "{{ answers.yes }} {{ answers.no }}"`;
    const run = await service.waiting(steps);
    const { page, problems } = await openView(`/runs/${run}`);
    // No decision is preselected.
    await untilSettled(page, 'Send decision');
    await page.getByRole('button', { name: 'Send decision' }).press('Enter');
    await page.getByRole('main').getByText('Choose one.').waitFor();
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Pay 9,000 EUR?' }).waitFor();
    await page.getByRole('radio', { name: 'Deny' }).press('Space');
    await page.getByLabel('Reason (optional)').fill('Too much.');
    await untilSettled(page, 'Send decision');
    await page.getByLabel('Reason (optional)').press('Control+Enter');
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    await untilSettled(page, 'Send answer');
    await page.getByRole('button', { name: 'Send answer' }).press('Enter');
    // Missing answers are reported, and the first of them has the focus.
    await page.getByRole('main').getByText('Choose one.').waitFor();
    await page.getByRole('main').getByText('Choose one or more.').waitFor();
    await page.getByRole('main').getByText('Write an answer.').waitFor();
    expect(await page.evaluate('document.activeElement.type')).toBe('radio');
    await page.keyboard.press('ArrowDown');
    await page.getByRole('checkbox', { name: 'Product' }).press('Space');
    await page.getByRole('checkbox', { name: 'Rome, Italy' }).press('Space');
    await page.getByLabel('A note?').fill('two lines\nof words');
    await page.getByLabel('A note?').press('Control+Enter');
    await page.getByRole('main').getByText('true false').waitFor();
    expect(await lastAnswer(run)).toBe('Which vendor? Acme, Inc\nWhich centres? Product, Rome, Italy\nA note? two lines\nof words');
    const answers = (await service.messages(run)).filter(({ type }) => type === 'human_response');
    expect(answers.map(({ text_content }) => text_content).slice(0, 2)).toEqual([
      'Approved: Pay 120 EUR?',
      'Denied: Pay 9,000 EUR?\nToo much.',
    ]);
    expect(problems).toEqual([]);
  });

  it('does not send a decision that was pressed before its request had been visible for a moment', async () => {
    const steps = (title: string) => `- approve: { id: a, title: "${title}", on_deny: continue }`;
    const first = await service.waiting(steps('First?'));
    const { page, problems } = await openView('/inbox');
    const card = page.getByRole('article', { name: 'Second?' });
    const send = card.getByRole('button', { name: 'Send decision' });
    const press = (event: string) => send.dispatchEvent(event, { bubbles: true });
    const pending = async (run: string) => (await service.get(run)).request !== null;
    await page.getByRole('article', { name: 'First?' }).waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const second = await service.waiting(steps('Second?'));
    await nudge(page);
    await card.getByRole('radio', { name: 'Approve' }).check();
    await send.scrollIntoViewIfNeeded();

    // Immediately, and 100 ms before it counts.
    await press('click');
    await card.getByText('this had only just appeared').waitFor();
    await page.clock.runFor(600);
    await press('click');
    // Pressed before, released after.
    await press('pointerdown');
    await page.clock.runFor(200);
    expect(await send.getAttribute('aria-disabled')).toBe('false');
    await press('click');
    // A key that was held down since before.
    await send.dispatchEvent('keydown', { key: 'Enter', repeat: true, bubbles: true });
    await press('click');
    // Another request above is settled, and this one moves to its position on the screen.
    await respond(first, { approved: true });
    await nudge(page);
    await page.getByText('Somebody else answered:').waitFor();
    await eventually('the card has moved', async () => (await send.getAttribute('aria-disabled')) === 'true');
    await press('pointerdown');
    await press('click');
    expect(await pending(second)).toBe(true);

    await page.clock.runFor(800);
    await press('pointerdown');
    await press('click');
    await card.getByText('You approved this.').waitFor();
    expect(await lastAnswer(second)).toBe('Approved: Second?');
    expect(problems).toEqual([]);
  });

  it('keeps drafts while it reads and reloads, and reports when somebody else was faster', async () => {
    const run = await service.waiting('- ask: { id: a, title: Who is it?, questions: [{ question: Who is it? }] }\n- say: thanks');
    const { page, problems } = await openView('/inbox');
    const card = page.getByRole('article', { name: 'Who is it?' });
    await card.getByRole('textbox').fill('half an ans');
    for (let time = 0; time < 2; time++) {
      const response = page.waitForResponse(/\/runs\?status=waiting/);
      await nudge(page);
      await response;
    }
    expect(await card.getByRole('textbox').inputValue()).toBe('half an ans');
    await page.reload();
    expect(await card.getByRole('textbox').inputValue()).toBe('half an ans');
    await card.getByRole('textbox').focus();
    await respond(run, { answers: { 'Who is it?': 'the other one' } });
    await nudge(page);
    await card.getByText('Somebody else answered:').waitFor();
    expect(await card.textContent()).toContain('the other one');
    expect(await card.textContent()).toContain('half an ans');
    // The focus was in the removed field: now it is on its replacement.
    expect(await page.evaluate('document.activeElement.className')).toBe('outcome');
    expect(await card.getByRole('button').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('keeps a draft below a request that somebody answered with a message, even when the next request arrives', async () => {
    const ask = (name: string) => `- ask: { id: ${name}, title: Request ${name}, questions: [{ question: "${name}?" }] }`;
    const run = await service.waiting(`${ask('one')}\n${ask('two')}\n${ask('three')}`);
    await respond(run, { answers: { 'one?': 'earlier' } });
    const { page, problems } = await openView(`/runs/${run}`);
    const card = page.getByRole('article', { name: 'Request two' });
    await card.getByRole('textbox').fill('never sent');
    await service.api('POST', `/runs/${run}/messages`, { message: 'by mail' });
    await nudge(page);
    await page.getByRole('article', { name: 'Request three' }).waitFor();
    expect(await card.locator('.answer').textContent()).toBe('by mail');
    expect(await card.textContent()).toContain('never sent');
    await page.getByRole('article', { name: 'Request three' }).getByRole('textbox').fill('mine');
    await page.getByRole('button', { name: 'Send answer' }).click();
    await page.getByRole('article', { name: 'Request three' }).waitFor({ state: 'detached' });
    expect(await lastAnswer(run)).toBe('three? mine');
    expect(problems).toEqual([]);
  });

  it.each(['/inbox', '/runs/RUN'])('attributes an answer to nobody else if its response is late or lost, at %s', async (view) => {
    const run = await service.waiting(`- approve: { id: a, title: "Late ${view}?" }\n- approve: { id: b, title: "Lost ${view}?" }`);
    const { page } = await openView(view.replace('RUN', run));
    const approve = async (title: string) => {
      const card = page.getByRole('article', { name: title });
      await card.getByRole('radio', { name: 'Approve' }).check();
      await card.getByRole('button', { name: 'Send decision', disabled: false }).click();
      return card;
    };
    let respondNow = (): void => undefined;
    const isTime = new Promise<void>((resolve) => {
      respondNow = resolve;
    });
    const sent = page.waitForRequest('**/respond');
    await page.route('**/respond', async (route) => {
      const response = await route.fetch();
      await isTime;
      await route.fulfill({ response });
    });
    const late = await approve(`Late ${view}?`);
    await sent;
    await service.until(run, 'waiting');
    await eventually('the next request is pending', async () => (await service.get(run)).request?.title === `Lost ${view}?`);
    const reading = page.waitForResponse(view === '/inbox' ? /status=waiting/ : /\/messages\?/);
    await nudge(page);
    await reading;
    expect(await late.textContent()).not.toContain('Somebody else');
    respondNow();
    if (view === '/inbox') await late.getByText('You approved this.').waitFor();
    else await late.waitFor({ state: 'detached' });

    await page.unroute('**/respond');
    await page.route('**/respond', async (route) => {
      await route.fetch();
      await route.abort();
    });
    const lost = await approve(`Lost ${view}?`);
    await lost.getByText('This was answered:').waitFor();
    expect(await lost.textContent()).not.toContain('Somebody else');
  });

  it.each([
    ['fails', { status: 503, json: { error: 'draining', message: 'Later.' } }, 'The service is failing to respond.'],
    ['requests a pause', { status: 429, headers: { 'retry-after': '600' }, json: {} }, 'The service requested a pause.'],
    ['is replaced by the page of a proxy', { status: 200, body: '<html>' }, 'The service is failing to respond.'],
  ])('stays signed in if the service %s while the page is loaded', async (_, answer, words) => {
    const { page } = await openView('/inbox');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.route('**/v2/local/credential', (route) => route.fulfill(answer));
    await page.setViewportSize({ width: 360, height: 700 });
    await page.reload();
    await page.getByRole('heading', { name: 'The service is not available' }).waitFor();
    await page.getByRole('status').getByText(words).waitFor();
    // The banner does not cover it.
    const bottom = await page.evaluate<number>('document.getElementById("banner").getBoundingClientRect().bottom');
    expect(await page.evaluate<number>('document.querySelector("h1").getBoundingClientRect().top')).toBeGreaterThan(bottom);
    await page.unroute('**/v2/local/credential');
    await nudge(page);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  });

  it('signs in with a code as soon as the service responds instead of a proxy', async () => {
    const { page } = await newPage();
    await page.route('**/page/session', (route) => route.fulfill({ status: 200, body: '<html>' }));
    await page.goto(`${service.service.url}/#code=${await code()}&view=/inbox`);
    await page.getByRole('heading', { name: 'The service is not available' }).waitFor();
    await page.unroute('**/page/session');
    await nudge(page);
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  });

  it('signs in once, even if the button is pressed twice', async () => {
    const { secret } = await service.api<{ secret: string }>('POST', '/local/tokens', { name: 'impatient', scopes: ['runs:read'] });
    const { page } = await newPage();
    await page.goto(service.service.url);
    await page.getByLabel('Or paste a token of your team').fill(secret);
    let attempts = 0;
    page.on('request', (request) => {
      attempts += Number(request.url().endsWith('/v2/local/credential'));
    });
    await page.evaluate('const button = document.querySelector("form button"); button.click(); button.click()');
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    expect(attempts).toBe(1);
  });

  it('shows a view again once it can be read', async () => {
    const { page } = await openView();
    const heading = page.getByRole('heading', { name: 'Runs', exact: true });
    await heading.waitFor();
    await page.route(/\/runs\?offset/, (route) => route.fulfill({ status: 403, json: { error: 'forbidden', message: 'Not now.' } }));
    await nudge(page);
    await page.getByRole('heading', { name: 'This cannot be shown' }).waitFor();
    await page.unroute(/\/runs\?offset/);
    await nudge(page);
    await heading.waitFor();
  });

  it('never answers twice, even if somebody else was slightly faster, the reply is lost, or the button is pressed again', async () => {
    const racedRun = await service.waiting('- ask: { id: a, title: Race, questions: [{ question: Race? }] }\n- say: done');
    const first = await openView(`/runs/${racedRun}`);
    await first.page.getByRole('textbox', { name: 'Race?' }).fill('mine');
    await first.page.route('**/respond', async (route) => {
      await respond(racedRun, { answers: { 'Race?': 'theirs' } });
      await route.continue();
    });
    await first.page.getByRole('button', { name: 'Send answer' }).click();
    await first.page.getByRole('main').getByText('Somebody else answered:').waitFor();
    expect(await first.page.getByRole('article').textContent()).toContain('Race? theirs');
    expect(await lastAnswer(racedRun)).toBe('Race? theirs');
    expect(first.problems).toEqual([expect.stringContaining('409')]);

    const lostRun = await service.waiting('- approve: { id: a, title: Lost? }\n- say: done');
    const { page } = await openView(`/runs/${lostRun}`);
    await page.getByRole('radio', { name: 'Approve' }).check();
    await untilSettled(page, 'Send decision');
    const keys: (string | undefined)[] = [];
    // The answer arrives, but the page does not get the reply, and its other requests fail as well.
    await page.route('**/v2/**', (route) => route.abort('connectionreset'));
    await page.route('**/respond', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Send decision' }).click();
    await page.getByRole('main').getByText('You can safely send it again').waitFor();
    await service.until(lostRun, 'completed');
    await page.unroute('**/respond');
    await page.route('**/respond', (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      return route.continue();
    });
    await page.getByRole('button', { name: 'Send decision' }).dblclick();
    await page.getByRole('main').getByText('You approved this.').waitFor();
    expect(keys).toEqual([keys[0], keys[0]]);
    expect((await service.messages(lostRun)).filter(({ type }) => type === 'human_response')).toHaveLength(1);
  });

  it('reports that the service is unreachable, recovers on its own, and respects a requested pause', async () => {
    const { page } = await openView();
    const heading = page.getByRole('heading', { name: 'Runs', exact: true });
    const lost = page.getByText('The service cannot be reached.');
    const loseService = async (isBack: () => Promise<boolean>) => {
      await page.route('**/v2/**', async (route) => ((await isBack()) ? route.fallback() : route.abort('connectionrefused')));
      await nudge(page);
      await lost.waitFor();
      await page.getByText(/Trying again in \d+ s\./).waitFor();
      expect(await heading.isVisible()).toBe(true);
    };
    await heading.waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);

    await page.evaluate('addEventListener("click", () => document.body.classList.add("pressed"))');
    await loseService(async () => (await page.locator('body.pressed').count()) > 0);
    await page.getByRole('button', { name: 'Try now' }).click();
    await lost.waitFor({ state: 'hidden' });

    let isBack = false;
    await loseService(async () => isBack);
    isBack = true;
    // Longer than the longest pause between two attempts.
    await page.clock.runFor(60_000);
    await lost.waitFor({ state: 'hidden' });

    let requestCount = 0;
    await page.route('**/v2/**', (route) => {
      requestCount += 1;
      return route.fulfill({ status: 429, headers: { 'retry-after': '600' }, json: { error: 'rate_limited', message: 'Slowly.' } });
    });
    await nudge(page);
    await page.getByText('The service requested a pause.').waitFor();
    await page.getByText(/Continuing in \d+ s\./).waitFor();
    expect(requestCount).toBe(1);
    // Also on another view.
    await page.getByRole('link', { name: 'Inbox' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.clock.runFor(1_000);
    await page.getByText('Continuing in 599 s.').waitFor();
    expect(requestCount).toBe(1);
  });

  it('sends messages, which start another turn', async () => {
    const run = await service.run('- say: "You wrote: {{ message }}"', 'one');
    const { page, problems } = await openView(`/runs/${run}`);
    await page.getByRole('main').getByText('You wrote: one').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('main').getByText('Write a message.').waitFor();
    await page.getByLabel('Message to the run').fill('two');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('main').getByText('You wrote: two').waitFor();
    expect(await page.getByLabel('Message to the run').inputValue()).toBe('');
    expect(problems).toEqual([]);
  });

  it('does not answer a request with a message, even if the page does not show the request yet', async () => {
    const run = await service.run(
      '- if: message == "ask"\n  approve: { id: go, title: "Deploy?" }\n- say: "You wrote: {{ message }}"',
      'one',
    );
    const { page } = await openView(`/runs/${run}`);
    await page.getByRole('main').getByText('You wrote: one').waitFor();
    await page.route(
      (url) => url.pathname === `/v2/runs/${run}`,
      () => undefined,
    );
    await service.api('POST', `/runs/${run}/messages`, { message: 'ask' });
    await service.until(run, 'waiting');
    await page.getByLabel('Message to the run').fill('looks good to me');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').getByText('waiting for an answer to "Deploy?". The message was not sent.').waitFor();
    expect(await page.getByLabel('Message to the run').inputValue()).toBe('looks good to me');
    expect((await service.get(run)).request?.title).toBe('Deploy?');
  });

  it('is signed out when the session ends, and continues where it was', async () => {
    const run = await service.waiting('- ask: { id: a, title: Still there?, questions: [{ question: Still there? }] }');
    const { page } = await openView(`/runs/${run}`);
    await page.getByRole('textbox', { name: 'Still there?' }).fill('unsent');
    const token = (await page.evaluate('sessionStorage.getItem("aops.token")')) as string;
    await fetch(`${service.service.url}/page/session`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
    await page.getByRole('main').getByText('the session has ended').waitFor();
    await page.goto(`${service.service.url}/#code=${await code()}&view=/runs/${run}`);
    await page.getByRole('textbox', { name: 'Still there?' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Still there?' }).inputValue()).toBe('unsent');
    await respond(run, { answers: { 'Still there?': 'x' } });
  });
});

/** Texts of agents on the team page: they are shown, have no effect, and are accessible to everyone. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import type { Runtime } from '../../../src/service/runtimes/runtime.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { png } from '../../support/png.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const hostileText = '<img src=x onerror="alert(1)"><script>alert(1)</script> javascript:alert(1) \u202egnp.exe';
/** The visible form of the text. */
const readable = '<img src=x onerror="alert(1)"><script>alert(1)</script> javascript:alert(1) ⟨U+202E⟩gnp.exe';
const picture = (red: number) => ({ name: 'shot.png', mimeType: 'image/png', bytes: png(640, 400, [red, 120, 200]) });

/** Shows pictures, and possible titles of a page. */
const showingRuntime: Runtime = {
  name: 'show',
  validate: () => undefined,
  countSteps: () => 1,
  async advance(host) {
    const times = { startedAt: new Date('2026-07-18T09:00:00Z'), endedAt: new Date('2026-07-18T09:00:01Z') };
    const shot = { kind: 'screenshot' as const, toolName: 'browser', ...times };
    await host.emit([
      {
        ...shot,
        id: '0',
        action: 'open',
        input: { address: 'http://shop.test/', url: 'http://shop.test/', title: 'Shop' },
        image: picture(1),
      },
      {
        ...shot,
        id: '1',
        action: hostileText,
        input: { url: hostileText, title: hostileText },
        before: { of: '0' },
        image: picture(99),
        error: hostileText,
      },
    ]);
    return { status: 'completed' };
  },
};

let service: TestService;
let waitingRun: string;
let finishedRun: string;
beforeAll(async () => {
  service = await startTestService({ runtimes: [scriptRuntime, showingRuntime] });
  const text = JSON.stringify(hostileText);
  waitingRun = await service.waiting(`
- say: ${text}
- tool: { id: t, name: erp.book, arguments: { ${text}: ${text} }, result: { ${text}: ${text} } }
- tool: { id: f, name: erp.fail, error: ${text} }
- write: { path: "page <b>.html", content: ${text} }
- write: { path: "dir\u202e/data.bin", content: ${text} }
- write: { path: table.svg, content: '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' }
- ask: { id: a, title: ${text}, questions: [{ question: ${text}, header: ${text}, options: [{ label: ${text}, description: ${text} }, { label: Neither }] }] }`);
  const config = {
    version: 'v2',
    data: { models: { agent: { model: 'show' }, browsing: { provider: 'anthropic', model: 'none' } }, input: 'x' },
  };
  const { agent } = await service.api<{ agent: { id: string } }>('POST', `/teams/${service.service.teamId}/agents`, {
    name: hostileText,
    build: { name: 'first', config },
  });
  finishedRun = await service.start(agent.id, hostileText);
  await service.until(finishedRun, 'completed');
  await service.until(await service.run(`- fail: ${text}`), 'failed');
});

async function openView(view: string, options = {}): Promise<{ page: Page; problems: string[] }> {
  const browserPage = await newPage(options);
  const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
  await browserPage.page.goto(`${service.service.url}/#code=${code}&view=${view}`);
  await browserPage.page.getByRole('navigation', { name: 'Page' }).waitFor();
  return browserPage;
}

const go = (page: Page, view: string) => page.goto(`${service.service.url}/#${view}`);

/** Runs in the browser: problems of the page for people with low vision, screen readers, or keyboards. */
const audit = `(() => {
  const problems = [];
  const visible = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;
  const channels = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return colour.startsWith('color(') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]; };
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => { for (let at = element; at; at = at.parentElement) { const c = channels(getComputedStyle(at).backgroundColor); if (c[3] > 0.9) return c; } return [255, 255, 255, 1]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || !visible(element) || element.closest('.hidden, .skip, noscript')) continue;
    const [one, two] = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (two + 0.05);
    if (contrast < 4.5) problems.push('contrast ' + contrast.toFixed(2) + ': ' + node.data.trim().slice(0, 40));
  }
  for (const control of document.querySelectorAll('a, button, input, select, textarea, summary')) {
    if (!visible(control)) continue;
    const name = control.ariaLabel || control.textContent.trim() || [...(control.labels ?? [])].map((label) => label.textContent.trim()).join(' ');
    if (name === '') problems.push('no name: ' + control.outerHTML.slice(0, 80));
    const box = control.getBoundingClientRect();
    if (control.matches('button, select') && box.height < 24) problems.push('too small: ' + name);
  }
  for (const image of document.images) if (image.alt === '' && visible(image)) problems.push('no alt');
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) problems.push('ids come twice');
  for (const at of ['aria-describedby', 'aria-labelledby', 'for'])
    for (const element of document.querySelectorAll('[' + at + ']')) if (!document.getElementById(element.getAttribute(at))) problems.push('nothing is ' + element.getAttribute(at));
  if (document.querySelectorAll('main h1').length !== 1) problems.push('not one h1');
  const levels = [...document.querySelectorAll('h1, h2, h3, h4')].filter(visible).map(({ tagName }) => Number(tagName[1]));
  if (levels.some((level, index) => level > (levels[index - 1] ?? 0) + 1)) problems.push('a level of headings is left out: ' + levels);
  if (document.documentElement.scrollWidth > innerWidth) problems.push('wider than the window');
  if (!document.documentElement.lang) problems.push('no language');
  return problems;
})()`;

describeWithChromium('what an agent wrote', () => {
  it('is text wherever it is shown', async () => {
    const { page, problems } = await openView(`/runs/${waitingRun}`);
    const main = page.getByRole('main');
    await page.getByRole('button', { name: 'Send answer' }).waitFor();
    expect(await page.locator('.said .prose').textContent()).toBe(readable);
    expect(await page.locator('.request h2').textContent()).toBe(readable);
    expect(await page.locator('.option .label').first().textContent()).toBe(readable);
    for (const summary of await page.locator('.tool summary').all()) await summary.click();
    expect(await page.locator('.tool pre').first().textContent()).toContain('⟨U+202E⟩');
    await go(page, `/runs/${finishedRun}/screenshots`);
    await page.getByText('2 actions, 1 failed').waitFor();
    expect(await page.locator('.frame').nth(1).textContent()).toContain(`Failed: ${readable}`);
    await go(page, '/inbox');
    await page.getByRole('article').first().waitFor();
    await go(page, '/');
    await main.getByText(readable).first().waitFor();
    // All of it stayed text: it did not create a picture, script, or link.
    expect(await page.locator('img[src="x"], a[href^="javascript"], body script').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('is a text or a download when it is a file, never a page', async () => {
    const { page, problems } = await openView(`/runs/${waitingRun}/files`);
    const file = page.getByRole('link', { name: 'page <b>.html' });
    await file.waitFor();
    expect(await page.getByRole('link', { name: 'dir⟨U+202E⟩' }).count()).toBe(1);
    await file.click();
    const content = page.locator('pre.content');
    await content.waitFor();
    expect(await content.textContent()).toBe(hostileText);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
    expect(download.suggestedFilename()).toBe('page <b>.html'.replaceAll(/[<>]/g, '_'));
    expect(page.url()).toContain('/file/');
    await page.getByRole('link', { name: 'workspace' }).click();
    await page.getByRole('link', { name: 'table.svg' }).click();
    await page.getByText('<script>').waitFor();
    await go(page, `/runs/${waitingRun}/file/workspace/none.txt`);
    await page.getByText('This file does not exist').waitFor();
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([]);
  });

  it('has pictures that can be enlarged, browsed with the arrow keys, and are fetched again when their URL has expired', async () => {
    const { page, problems } = await openView('/');
    let refusals = 0;
    await page.route('**/files/**', (route) => (refusals++ === 0 ? route.fulfill({ status: 403, body: '' }) : route.continue()));
    await go(page, `/runs/${finishedRun}/screenshots`);
    await page.getByText('2 actions, 1 failed').waitFor();
    await eventually('all pictures are there', () =>
      page.evaluate<boolean>(
        '[...document.querySelectorAll(".picture img")].every((image) => image.complete && image.naturalWidth === 640)',
      ),
    );
    const first = page.getByRole('button', { name: /Enlarge: After action 1/ });
    await first.click();
    await page.getByRole('dialog').getByText('After action 1').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('dialog').getByText('Before action 2').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.className')).toBe('picture');
    expect(problems.filter((problem) => !problem.includes('403'))).toEqual([]);
  });
});

describeWithChromium('everybody', () => {
  it.each([
    { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
    { colorScheme: 'dark', viewport: { width: 360, height: 640 } },
  ] as const)('can read and use it: $colorScheme, $viewport.width pixels', async (options) => {
    const { page } = await openView('/', options);
    const views: [view: string, there: string][] = [
      ['/', '.run'],
      ['/inbox', '.request'],
      [`/runs/${waitingRun}`, '.request'],
      [`/runs/${finishedRun}`, '.message'],
      [`/runs/${finishedRun}/screenshots`, '.picture'],
      [`/runs/${waitingRun}/files`, '.files li'],
      [`/runs/${waitingRun}/file/workspace/table.svg`, '.content'],
      ['/runs/unknown', '.empty'],
    ];
    for (const [view, expectedText] of views) {
      await go(page, view);
      await page.locator(`main ${expectedText}`).first().waitFor();
      if (view !== '/')
        await eventually(`the heading of ${view} has the focus`, () => page.evaluate<boolean>('document.activeElement.tagName === "H1"'));
      expect(await page.evaluate(audit), view).toEqual([]);
    }
    const paper = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(paper).toBe(options.colorScheme === 'light' ? 'rgb(246, 245, 241)' : 'rgb(20, 21, 19)');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Or paste a token of your team').waitFor();
    expect(await page.evaluate(audit)).toEqual([]);
  });

  it('has no motion for people who prefer reduced motion', async () => {
    const { page } = await openView(`/runs/${waitingRun}`, { reducedMotion: 'reduce' });
    expect(
      await page.evaluate(
        '[getComputedStyle(document.documentElement).scrollBehavior, getComputedStyle(document.querySelector(".pulse")).animationName]',
      ),
    ).toEqual(['auto', 'none']);
    // The first key skips the header.
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
  });
});

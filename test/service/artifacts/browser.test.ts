/** Pages in a real browser: light and dark, on a phone, offline, and as PDF. */

import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BlockContent, PageContent } from '../../../src/service/artifacts/content.ts';
import { renderPage } from '../../../src/service/artifacts/render/render.ts';
import { printPdf } from '../../../src/service/browser/print.ts';
import { browserArguments } from '../../support/browser-page.ts';
import { chromium, describeWithChromium } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { runPromptly } from '../../support/promptly.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { startApi } from '../helpers/service.ts';

const longName = 'a-very-long-name-without-any-spaces-in-it-that-goes-on-and-on';
const data = (id: string, content: Extract<BlockContent, { kind: 'data' }>['data']): BlockContent => ({
  ...{ id, kind: 'data', title: `Runs of agent "${longName}" by status`, subject: 'runs', data: content },
});
const page: PageContent = {
  title: `What happened: ${longName}`,
  asOf: '2026-07-18T09:00:00.000Z',
  blocks: [
    { id: 'part-1', kind: 'text', text: `${longName} <script>document.title = 'run'</script>` },
    data('part-2', {
      kind: 'bars',
      bars: [
        { label: 'completed', value: 5, status: true },
        { label: longName, value: 2 },
      ],
      total: 7,
    }),
    data('part-3', {
      kind: 'series',
      as: 'line',
      points: Array.from({ length: 30 }, (_, day) => ({ label: `2026-06-${String(day + 1).padStart(2, '0')}`, value: day })),
      total: 435,
    }),
    data('part-4', { kind: 'series', as: 'bars', points: [{ label: '2026-07-18T09', value: 3 }], total: 3 }),
    data('part-5', {
      kind: 'table',
      columns: [
        { label: 'Run', kind: 'text' },
        { label: 'Agent', kind: 'text' },
        { label: 'Status', kind: 'status' },
        { label: 'Created', kind: 'time' },
      ],
      rows: Array.from({ length: 40 }, () => [longName, longName, 'failed', '2026-07-18T09:00:00.000Z']),
      total: 40,
    }),
    data('part-6', {
      kind: 'usage',
      limits: [
        { label: 'Clarity interviews', used: 123_456, limit: 'unlimited' },
        { label: 'Runs', used: 12, limit: 10 },
      ],
      period: { start: '2026-07-01T00:00:00.000Z', end: '2026-08-01T00:00:00.000Z' },
    }),
    data('part-7', { kind: 'number', value: 1_234 }),
    data('part-8', { kind: 'number', value: 5 }),
  ],
};

interface PageFindings {
  scrollsSideways: boolean;
  paper: string;
  contrast: number[];
  title: string;
  lostTexts: string[];
  /** Figures that take more than one line. */
  wrappedFigures: string[];
  /** Elements that have to be scrolled to be read. */
  scrollingElements: string[];
  /** The vertical distance between the first and the second of two numbers. */
  numbersApart: number;
}

/** Runs in the browser: what a reader would notice about the page. */
const inspection = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (color) => channels(color).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => { for (let at = element; at; at = at.parentElement) { const color = getComputedStyle(at).backgroundColor; if (!/, 0\\)$|transparent/.test(color)) return color; } return 'rgb(255, 255, 255)'; };
  const lines = (element) => { const range = document.createRange(); range.selectNodeContents(element); return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size; };
  const texts = [...document.querySelectorAll('h1, h2, p, th, td, .status, summary')].filter((one) => one.textContent.trim() !== '');
  return {
    scrollsSideways: document.documentElement.scrollWidth > innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    contrast: texts.map((one) => { const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); }),
    title: document.title,
    lostTexts: [...document.querySelectorAll('section')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.id),
    wrappedFigures: [...document.querySelectorAll('.amount, .status')].filter((one) => lines(one) > 1).map((one) => one.textContent),
    scrollingElements: [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute('aria-label')),
    numbersApart: document.getElementById('part-8').offsetTop - document.getElementById('part-7').offsetTop,
  };
})()`;

describeWithChromium('a page in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    const { chromium: library } = await import('playwright-core');
    browser = await library.launch({
      executablePath: chromium as string,
      chromiumSandbox: process.getuid?.() !== 0,
      args: browserArguments,
    });
  });
  afterAll(() => browser.close());

  async function inspect(html: string, options: BrowserContextOptions): Promise<PageFindings & { problems: string[] }> {
    const context = await browser.newContext(options);
    const problems: string[] = [];
    const tab = await context.newPage();
    tab.on('console', (message) => problems.push(message.text()));
    tab.on('pageerror', (error) => problems.push(error.message));
    tab.on('request', (request) => problems.push(request.url()));
    await tab.setContent(html);
    const findings = (await tab.evaluate(inspection)) as PageFindings;
    await context.close();
    return { ...findings, problems };
  }

  const readable = (contrast: readonly number[]): number[] => contrast.filter((ratio) => ratio < 4.5);

  it.each([
    ['light', 1_100],
    ['dark', 1_100],
    ['light', 360],
    ['dark', 360],
  ] as const)('is readable when the reader likes %s, %i pixels wide, and asks for nothing', async (colorScheme, width) => {
    const findings = await inspect(renderPage(page), { colorScheme, viewport: { width, height: 800 } });
    expect(findings.problems).toEqual([]);
    expect(findings.wrappedFigures).toEqual([]);
    expect(findings.scrollingElements).toEqual([]);
    expect(findings.numbersApart > 0).toBe(width < 500);
    expect(findings).toMatchObject({ scrollsSideways: false, lostTexts: [], title: page.title });
    expect(findings.contrast.length).toBeGreaterThan(100);
    expect(readable(findings.contrast)).toEqual([]);
    expect(findings.paper).toBe(colorScheme === 'dark' ? 'rgb(18, 19, 22)' : 'rgb(246, 246, 244)');
  });

  it('has the requested theme, whatever setting the reader has', async () => {
    const paper = async (theme: 'light' | 'dark', colorScheme: 'light' | 'dark') =>
      (await inspect(renderPage(page, theme), { colorScheme })).paper;
    expect(await paper('dark', 'light')).toBe('rgb(18, 19, 22)');
    expect(await paper('light', 'dark')).toBe('rgb(246, 246, 244)');
  });

  it('becomes a PDF, light or dark', async () => {
    const api = await startApi({ browsing: { policy: 'off', executable: chromium as string } });
    const { artifact_id: artifactId } = await api.ok('createArtifact', {
      body: { message: 'title Sheets; runs by status; usage; text "end"' },
    });
    for (;;) {
      const { artifact } = await api.ok('getArtifact', { params: { artifactId } });
      if (artifact.status === 'completed') break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const theme of ['light', 'dark'] as const) {
      const answer = await api.call('exportArtifactPdf', { params: { artifactId }, query: { theme } });
      expect(answer.status, answer.text.slice(0, 300)).toBe(200);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/pdf', 'x-content-type-options': 'nosniff' });
      expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="Sheets\.pdf"/);
      expect(answer.text).toMatch(/^%PDF-/);
      expect(answer.text.trimEnd()).toMatch(/%%EOF$/);
    }
  });

  it('is printed for a client that waits, and not for one that has left', async () => {
    const folder = await temporaryDirectory();
    const executable = path.join(folder, 'browser');
    await writeFile(executable, `#!/bin/sh\necho x >> '${folder}/started'\nexec '${chromium}' "$@"\n`, { mode: 0o755 });
    const starts = async () => (await readFile(path.join(folder, 'started'), 'utf8').catch(() => '')).length / 2;
    const browsing = { policy: 'off', executable, searchPath: process.env.PATH ?? '' } as const;
    const [abandonController, smallController] = [new AbortController(), new AbortController()];
    // Longer than a client would wait for the next one.
    const endlessHtml = '<p>word</p>'.repeat(1_000_000);
    const abandonedPrints = Promise.allSettled([
      printPdf(browsing, endlessHtml, abandonController.signal),
      printPdf(browsing, '<p>never</p>', abandonController.signal),
    ]);
    await eventually('the browser starts', async () => (await starts()) === 1);
    const next = printPdf(browsing, '<p>next</p>', smallController.signal);
    abandonController.abort();
    const rejection = { status: 'rejected', reason: { status: 409, error: 'pdf_unavailable' } };
    expect(await runPromptly(() => abandonedPrints)).toMatchObject([rejection, rejection]);
    expect((await runPromptly(() => next)).toString('latin1', 0, 5)).toBe('%PDF-');
    expect(await starts()).toBe(2);
  });
});

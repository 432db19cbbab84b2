import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RuntimeEvent } from '../../src/service/runtimes/run-host.ts';
import type { Runtime } from '../../src/service/runtimes/runtime.ts';
import { browserArguments } from '../support/browser-page.ts';
import { chromium, describeWithChromium } from '../support/chromium.ts';
import { answerWith, ForeignService } from '../support/foreign-service.ts';
import { png } from '../support/png.ts';
import { runCli } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { afterTest } from '../support/temporary.ts';

type Shot = Omit<RuntimeEvent & { kind: 'screenshot' }, 'kind' | 'id' | 'toolName' | 'startedAt'>;
const image = (red: number) => ({ name: 'shot.png', mimeType: 'image/png', bytes: png(64, 48, [red, 120, 200]) });
const hostileHtml = '<img src=x onerror=alert(1)></script>"\'&\u202e\u001b]0;x';

/** The scene for each message. */
const scenes: Record<string, Shot[]> = {
  none: [],
  few: [
    { action: 'open', input: { address: 'http://shop.test/', url: 'http://shop.test/', title: 'Shop' }, image: image(1) },
    { action: 'fill', input: { selector: '#q', url: 'http://shop.test/', title: 'Shop' }, before: { of: '0' }, image: image(2) },
    { action: 'extract', input: { selector: 'h1', url: 'http://shop.test/', title: 'Shop' }, before: { of: '1' }, image: { of: '1' } },
    { action: 'click', input: { selector: '#pay', url: 'http://shop.test/' }, before: { of: '1' }, error: 'no element matches `#pay`' },
  ],
  hostile: [
    {
      action: hostileHtml,
      input: { selector: hostileHtml, url: 'javascript:alert(1)', title: hostileHtml, [hostileHtml]: hostileHtml },
      error: hostileHtml,
      image: image(3),
    },
    {
      input: { url: `http://a.test/"onclick="alert(1)` },
      image: { name: hostileHtml, mimeType: 'text/html', bytes: Buffer.from('<script>alert(1)</script>') },
    },
  ],
  many: Array.from({ length: 500 }, (_, index) => ({
    action: 'click',
    input: { selector: `#row-${index}`, url: `http://shop.test/${'long-'.repeat(30)}${index}`, title: `Row ${index}` },
    ...(index === 0 ? {} : { before: { of: String(index - 1) } }),
    image: image(index % 256),
  })),
};

/** Plays the scene that the message specifies. */
const showingRuntime: Runtime = {
  name: 'script',
  validate: () => undefined,
  countSteps: () => 1,
  async advance(host) {
    const start = Date.parse('2026-07-18T09:00:00Z');
    const shots = scenes[host.userMessages[0] ?? ''] ?? [];
    await host.emit(
      shots.map((shot, index) => {
        const timeAt = (seconds: number) => new Date(start + index * 2_000 + seconds * 1_000);
        return { kind: 'screenshot', id: String(index), toolName: 'browser', startedAt: timeAt(0), endedAt: timeAt(1), ...shot };
      }),
    );
    return { status: 'completed' };
  },
};

interface PageFindings {
  images: number;
  brokenCount: number;
  scrollsSideways: boolean;
  lostTexts: string[];
  paper: string;
  headings: number;
}

/** Runs in the browser: the properties of the page that a reader would notice. */
const inspection = `(async () => {
  const images = [...document.images];
  // Lazy pictures would wait until they are in view.
  for (const one of images) one.loading = 'eager';
  const decoded = await Promise.all(images.map((one) => one.decode().then(() => one.naturalWidth === 64 && one.alt !== '', () => false)));
  return {
    images: images.length,
    brokenCount: decoded.filter((is) => !is).length,
    scrollsSideways: document.documentElement.scrollWidth > innerWidth,
    lostTexts: [...document.querySelectorAll('a[href^="#"]')].map((link) => link.getAttribute('href').slice(1)).filter((id) => !document.getElementById(id)),
    paper: getComputedStyle(document.body).backgroundColor,
    headings: document.querySelectorAll('h1, h2').length,
  };
})()`;

let service: TestService;
const runs: Record<string, string> = {};
beforeAll(async () => {
  service = await startTestService({ runtimes: [showingRuntime] });
  const agent = await service.agent('- say: x');
  for (const scene of Object.keys(scenes)) {
    runs[scene] = await service.start(agent, scene);
    await service.until(runs[scene], 'completed');
  }
});
const shots = (scene: string, ...flags: string[]) => service.cli(['runs', 'screenshots', runs[scene] as string, ...flags]);
async function strip(scene: string): Promise<string> {
  expect(await shots(scene, '--html', `${scene}.html`, '--force')).toMatchObject({ code: 0, stderr: expect.stringContaining('Wrote ') });
  return service.read(`${scene}.html`);
}

describe('runs screenshots', () => {
  it('lists the timeline', async () => {
    const { stdout } = await service.cli(['runs', 'screenshots', runs.few as string], { tty: true, columns: 80, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^# {2}TIME +TOOL +ACTION +TOOK {2}PICTURES\n/);
    expect(stdout.split('\n').slice(1)).toEqual([
      expect.stringMatching(/^1 {2}.+ {2}browser {2}open http:\/\/shop\.test\/ +1s {2}after$/),
      expect.stringMatching(/^2 {2}.+ {2}browser {2}fill #q +1s {2}before, after$/),
      expect.stringMatching(/^3 {2}.+ {2}browser {2}extract h1 +1s {2}before, after$/),
      expect.stringMatching(/^4 {2}.+ {2}browser {2}click #pay \(failed\) +1s {2}before$/),
      '',
    ]);
    expect((await shots('few', '--json')).json<{ data: { number: number }[] }>().data.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect((await shots('few', '--jq', '.data[3].error')).stdout).toBe('no element matches `#pay`\n');
  });

  it('saves the pictures with their numbers', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): unknown => warnings.push(message);
    process.on('warning', onWarning);
    afterTest(() => process.off('warning', onWarning));
    const saveResult = await shots('few', '--save', 'pictures');
    expect((await shots('many', '--save', 'all')).stderr).toContain('Saved 999 pictures');
    // No warnings, such as those of Node about possible listener leaks.
    expect(warnings).toEqual([]);
    expect(saveResult).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Saved 6 pictures to /) });
    expect((await readFile(path.join(service.folder, 'pictures/004-before.png'))).equals(image(2).bytes)).toBe(true);
  });
});

describe('a film strip', () => {
  it('is a single file with every picture, action and result', async () => {
    const page = await strip('few');
    const pictures = page
      .split('src="data:image/png;base64,')
      .slice(1)
      .map((part) => Buffer.from(part.slice(0, part.indexOf('"')), 'base64'));
    // After 1; before and after 2; one for 3, which changed nothing; before 4.
    expect(pictures.map((bytes) => bytes.equals(image(1).bytes))).toEqual([true, true, false, false, false]);
    for (const text of [
      '<bdi>click #pay</bdi>',
      'Before and after: no change',
      '<b>Failed:</b> <bdi>no element matches `#pay`</bdi>',
      '2s after the first',
    ])
      expect(page).toContain(text);
    expect(page).toContain(`<code>${runs.few}</code>`);
    expect(page).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; img-src data:; style-src &#39;sha256-[\w+/]+=*&#39;;/,
    );
    expect(page).not.toMatch(/<script|javascript:| src="http/i);
  });

  it('shows untrusted content as text', async () => {
    const page = await strip('hostile');
    expect(page).not.toMatch(/<img src=x|<script|href="javascript:|"onclick=/);
    for (const steering of ['\u202e', '\u001b']) expect(page).not.toContain(steering);
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(page).toContain('<span class="address"><bdi>javascript:alert(1)</bdi></span>');
    // Only pictures are included, regardless of the content type.
    expect(page).toContain('The picture is missing: it is not a picture.');
    expect((await shots('hostile', '--html', 'x.html')).stderr).toContain('1 picture could not be downloaded; the film strip shows which.');
  });

  it('does not overwrite a file without --force, and leaves no incomplete file', async () => {
    await service.file('mine.html', 'mine');
    const refusal = await shots('few', '--html', 'mine.html');
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--force') });
    expect(await service.read('mine.html')).toBe('mine');
    expect((await shots('few', '--html', 'mine.html', '--force')).code).toBe(0);
    expect(await service.read('mine.html')).toMatch(/^<!doctype html>/i);
    expect((await shots('few', '--html', '.')).code).toBe(2);
    expect((await shots('few', '--html', 'new/folder/strip.html')).code).toBe(0);
    expect(await service.read('new/folder/strip.html')).toMatch(/<\/html>\n$/);
  });

  it('says that there are no screenshots', async () => {
    expect(await strip('none')).toContain('The run has no screenshots.');
  });

  it('continues without a picture that the service has lost', async () => {
    const lostRun = await service.start(await service.agent('- say: x'), 'few');
    await service.until(lostRun, 'completed');
    await rm(path.join(service.dataDirectory, 'files', lostRun), { recursive: true });
    const writeResult = await service.cli(['runs', 'screenshots', lostRun, '--html', 'lost.html']);
    expect(writeResult).toMatchObject({ code: 0, stderr: expect.stringContaining('6 pictures could not be downloaded') });
    expect(await service.read('lost.html')).toContain('The picture is missing: the service responded with status 404.');
  });
});

describe('pictures whose URLs expire several times', () => {
  const [run, team] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
  const numbers = Array.from({ length: 30 }, (_, index) => index);

  /**
   * A service whose first URLs expire before the sixth picture, and whose second ones before the 21st.
   * @param isLost whether it loses the last picture before they are renewed
   */
  async function expiringService(isLost = false) {
    let reads = 0;
    const foreign = await ForeignService.start({
      'GET /v2/runs/:id': (_, id) => ({ run: { id, status: 'completed', run_number: 1, agent_id: null, team_id: team } }),
      'GET /v2/agent-runs/:id/screenshots/timeline': () => {
        reads += 1;
        const toolExecutions = numbers.slice(0, isLost && reads > 1 ? -1 : undefined).map((index) => ({
          ...{ executionId: `e${index}`, toolName: 'browser', startedAt: '2026-07-18T09:00:00Z' },
          afterScreenshot: { signedUrl: `/pictures/${reads}/${index}.webp` },
        }));
        return { data: { toolExecutions } };
      },
      'GET /pictures/:read/:name': (_, read, name) => {
        const index = Number.parseInt(name as string, 10);
        const isExpired = (read === '1' && index >= 5 && index < 20) || (read === '2' && index >= 20);
        return isExpired ? answerWith(403, { error: 'expired' }) : answerWith(200, `GIF89a picture ${name}`, 'image/gif');
      },
    });
    return (...flags: string[]) => runCli(['runs', 'screenshots', run, ...flags], foreign.optionsIn(service.folder, team));
  }

  it('are all in a film strip', async () => {
    const shoot = await expiringService();
    const result = await shoot('--html', 'expiring.html');
    expect(result).toMatchObject({ code: 0, stderr: expect.not.stringContaining('could not be downloaded') });
    const page = await service.read('expiring.html');
    const pictures = [...page.matchAll(/src="data:image\/gif;base64,([^"]+)"/g)].map(([, text]) =>
      Buffer.from(text as string, 'base64').toString(),
    );
    expect(pictures).toEqual(numbers.map((index) => `GIF89a picture ${index}.webp`));
  });

  it('are all saved', async () => {
    const shoot = await expiringService();
    expect(await shoot('--save', 'expiring')).toMatchObject({ code: 0, stderr: expect.stringContaining('Saved 30 pictures') });
    for (const index of numbers)
      expect(await service.read(`expiring/${String(index + 1).padStart(3, '0')}-after.webp`)).toBe(`GIF89a picture ${index}.webp`);
  });

  it('are reported if the service has lost one of them', async () => {
    const save = await expiringService(true);
    const result = await save('--save', 'lost');
    expect(result).toMatchObject({ code: 3, stderr: expect.stringContaining('The service no longer has 030-after.webp.') });
    const shoot = await expiringService(true);
    expect(await shoot('--html', 'lost-one.html')).toMatchObject({ code: 0, stderr: expect.stringContaining('1 picture could not be') });
    expect(await service.read('lost-one.html')).toContain('The picture is missing: the service no longer has it.');
  });
});

describeWithChromium('a film strip in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    const library = await import('playwright-core');
    browser = await library.chromium.launch({ executablePath: chromium as string, args: browserArguments });
  });
  afterAll(() => browser.close());

  /** Opens a film strip and returns what a reader would notice. */
  async function openScene(scene: string, options: { width: number; colorScheme: 'light' | 'dark' }) {
    await strip(scene);
    const file = path.join(service.folder, `${scene}.html`);
    const context = await browser.newContext({ viewport: { width: options.width, height: 740 }, colorScheme: options.colorScheme });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!/^(data:|file:)/.test(request.url())) problems.push(`asked for ${request.url()}`);
    });
    page.on('dialog', (dialog) => void problems.push(dialog.message()));
    await page.goto(pathToFileURL(file).href);
    const inspectionReport = (await page.evaluate(inspection)) as PageFindings;
    return { page, problems, findings: inspectionReport, file, end: () => context.close() };
  }

  it.each([
    ['few', 5, 5],
    ['hostile', 1, 3],
    ['many', 999, 501],
  ] as const)('shows all of %s: light and dark, wide and on a phone', async (scene, images, headings) => {
    const papers = new Set<string>();
    for (const options of [
      { width: 1280, colorScheme: 'light' },
      { width: 360, colorScheme: 'dark' },
    ] as const) {
      const { problems, findings, end } = await openScene(scene, options);
      expect({ problems, ...findings }).toEqual({
        problems: [],
        images,
        brokenCount: 0,
        scrollsSideways: false,
        lostTexts: [],
        paper: findings.paper,
        headings,
      });
      papers.add(findings.paper);
      await end();
    }
    expect(papers.size).toBe(2);
  });

  it('can be used with the keyboard', async () => {
    const { page, end } = await openScene('few', { width: 1280, colorScheme: 'light' });
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the pictures');
    // Links enlarge and close a picture.
    await page.locator('#s2-after .zoom').focus();
    await page.keyboard.press('Enter');
    const close = page.locator('#s2-after .close');
    await close.waitFor();
    await page.keyboard.press('Tab');
    expect(await close.evaluate((link) => (link as { matches(selector: string): boolean }).matches(':focus'))).toBe(true);
    await page.keyboard.press('Enter');
    await close.waitFor({ state: 'hidden' });
    await end();
  });

  it('is not much larger than its pictures', async () => {
    const { file, end } = await openScene('many', { width: 1280, colorScheme: 'light' });
    const pictures = 999 * Math.ceil(image(1).bytes.length / 3) * 4;
    expect((await stat(file)).size).toBeLessThan(pictures + 500 * 4_000);
    await end();
  });
});

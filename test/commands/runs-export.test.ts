/** `aops runs export`: one file with everything about a run, without secrets, and without anything that a browser would execute or load. */
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Compile } from 'typebox/compile';
import { beforeAll, describe, expect, it } from 'vitest';
import { exportSchema } from '../../src/commands/runs/export/schema.ts';
import type { Outcome, RunHost, RuntimeEvent } from '../../src/service/runtimes/run-host.ts';
import type { Runtime } from '../../src/service/runtimes/runtime.ts';
import { newPage } from '../support/browser-page.ts';
import { describeWithChromium } from '../support/chromium.ts';
import { ForeignService } from '../support/foreign-service.ts';
import { png } from '../support/png.ts';
import { runCli } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const token = ['gh', 'p_', 'a1B2'.repeat(9)].join('');
const hostile = `<script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)>"'\`\`\`\`&\u202e\u001b]0;x\u0007</details></pre></style><svg onload=alert(3)>`;
const hostileDiff = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-${hostile}\n+${hostile}`;
const image = { name: 'shot.png', mimeType: 'image/png', bytes: png(64, 48, [3, 120, 200]) };

const call = (id: string, name: string, args: Record<string, unknown>): RuntimeEvent => ({ kind: 'tool_call', id, name, arguments: args });
const scenes: Record<string, (host: RunHost) => Promise<Outcome>> = {
  ordinary: async (host) => {
    if (host.answer('pay') === undefined) {
      await host.sandbox.write('out/report.md', Buffer.from('# March\n'));
      await host.emit([
        { kind: 'thought', id: 'th', text: 'First the report.' },
        { kind: 'text', id: 't', text: 'I check the invoices.' },
        call('c', 'exec', { command: `curl -H 'Authorization: Bearer ${token}' https://a.test` }),
        { kind: 'tool_result', id: 'r', callId: 'c', result: { exit_code: 0, stdout: `line 1\nline 2 ${token}\n` } },
        call('d', 'edit', { path: 'report.md' }),
        {
          kind: 'tool_result',
          id: 's',
          callId: 'd',
          result: { diffs: [{ path: 'report.md', diff: '--- a/report.md\n+++ b/report.md\n@@ -1 +1 @@\n-April\n+March' }] },
        },
        {
          kind: 'screenshot',
          id: 'p',
          toolName: 'browser',
          action: 'open',
          startedAt: new Date(host.clock.now()),
          input: { url: 'http://shop.test/', title: 'Shop' },
          image,
        },
      ]);
      return { status: 'waiting', step: 'pay', request: { type: 'approval', title: 'Pay 3 invoices?', description: 'Total: 5' } };
    }
    await host.emit([call('e', 'exec', { command: 'send' }), { kind: 'tool_result', id: 'u', callId: 'e', error: 'no such host' }]);
    return { status: 'failed', error: 'Step 2: the report was not sent' };
  },
  hostile: async (host) => {
    if (host.answer('q') === undefined) {
      await host.sandbox.write('<img src=x onerror=alert(4)>.txt', Buffer.from('x'));
      await host.emit([
        ...(['thought', 'plan', 'notice', 'text'] as const).map((kind): RuntimeEvent => ({ kind, id: kind, text: hostile })),
        call('c', hostile, { command: hostile, [hostile]: hostile }),
        { kind: 'tool_result', id: 'r', callId: 'c', result: { text: hostile, diffs: [{ path: hostile, diff: hostileDiff }] } },
        call('f', 'exec', { url: 'javascript:alert(5)' }),
        { kind: 'tool_result', id: 'g', callId: 'f', error: hostile },
        {
          kind: 'screenshot',
          id: 'p',
          toolName: hostile,
          action: hostile,
          startedAt: new Date(host.clock.now()),
          input: { url: 'javascript:alert(6)', title: hostile },
          error: hostile,
          image: { name: hostile, mimeType: 'text/html', bytes: Buffer.from('<script>alert(7)</script>') },
        },
        { kind: 'screenshot', id: 'p2', toolName: 'browser', startedAt: new Date(host.clock.now()), image },
      ]);
      const questions = [{ question: hostile, options: [{ label: hostile, description: hostile }, { label: 'b' }] }];
      const description = `\`\`\`\`\`diff\n${hostileDiff}\n\`\`\`\`\`\n${hostile}`;
      return { status: 'waiting', step: 'q', request: { type: 'question', title: hostile, description, questions } };
    }
    return { status: 'failed', error: hostile };
  },
  long: async (host) => {
    for (let index = 0; index < 8; index += 1)
      await host.emit(
        Array.from({ length: 50 }, (_, inner) => ({ kind: 'text', id: `${index}.${inner}`, text: `Message ${index * 50 + inner}.` })),
      );
    return { status: 'completed' };
  },
};

const runtime: Runtime = {
  name: 'script',
  validate: () => undefined,
  countSteps: () => 1,
  advance: async (host) => {
    const scene = scenes[host.userMessages[0]?.split(' ')[0] ?? ''];
    return scene === undefined ? { status: 'completed' } : scene(host);
  },
};

/** Runs in the browser: what a hostile run could have brought into the page, and what a reader would notice. */
const inspection = `(async () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  const images = [...document.images];
  for (const one of images) one.loading = 'eager';
  const broken = await Promise.all(images.map((one) => one.decode().then(() => false, () => true)));
  const elements = [...document.querySelectorAll('*')];
  return {
    images: images.length,
    brokenCount: broken.filter(Boolean).length,
    scrollsSideways: document.documentElement.scrollWidth > innerWidth,
    active: document.querySelectorAll('script, svg, iframe, a:not([href^="#"])').length,
    handlers: elements.filter((one) => one.getAttributeNames().some((name) => name.startsWith('on'))).length,
    paper: getComputedStyle(document.body).backgroundColor,
    lostLinks: [...document.querySelectorAll('a')].filter((link) => !document.getElementById(link.hash.slice(1))).length,
  };
})()`;

let service: TestService;
const runs: Record<string, string> = {};
beforeAll(async () => {
  service = await startTestService({ runtimes: [runtime] });
  const agent = await service.agent(`- say: x`, `checker ${hostile}`.slice(0, 90));
  runs.ordinary = await service.start(agent, 'ordinary');
  runs.hostile = await service.start(agent, `hostile ${hostile}`);
  await service.until(runs.ordinary, 'waiting');
  await service.until(runs.hostile, 'waiting');
  await service.cli(['runs', 'respond', runs.ordinary, '--approve', '--reason', 'Looks right']);
  await service.until(runs.ordinary, 'failed');
});

const exportRun = (scene: string, ...flags: string[]) => service.cli(['runs', 'export', runs[scene] as string, ...flags]);

describe('runs export', () => {
  it('writes a page with everything that happened, and without the secrets', async () => {
    const result = await exportRun('ordinary', '--to', 'run.html');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^Wrote run\.html \([\d.]+ kB\)\n2 secrets were replaced; the record lists where\.\n$/);
    const page = await service.read('run.html');
    expect(page).not.toContain(token);
    for (const text of [
      'The run failed</h2>',
      'Step 2: the report was not sent',
      'First the report.',
      'line 1\nline 2 [redacted: GitHub token]',
      '<span class="removed">-April</span><span class="added">+March</span>',
      'Pay 3 invoices?',
      '<b>Answered:</b> <span class="prose" dir="auto">approved: Looks right</span> <span class="took">by Local at ',
      'no such host',
      `src="data:image/png;base64,${image.bytes.toString('base64')}"`,
      '/workspace/out/report.md',
      createHash('sha256').update('# March\n').digest('hex'),
      '<td><bdi>Authorization header</bdi></td><td>tool calls</td><td class="count">1</td>',
      'Nothing was left out.',
    ])
      expect(page).toContain(text);
    // The answer is part of its request.
    expect(page).not.toContain('Approved: Pay 3 invoices?');
    expect(page).not.toContain('of a deleted agent');
  });

  it('writes JSON that fits the published schema', async () => {
    const validator = Compile(exportSchema());
    for (const scene of ['ordinary', 'hostile']) {
      const { stdout, code } = await exportRun(scene, '--format', 'json', '--to', '-');
      expect(code).toBe(0);
      const record = JSON.parse(stdout) as Record<string, unknown>;
      expect([...validator.Errors(record)].map(({ instancePath, message }) => `${instancePath} ${message}`)).toEqual([]);
      if (scene === 'hostile') continue;
      expect(record).toMatchObject({
        format: 'aops.run',
        version: 1,
        run: { id: runs.ordinary, status: 'failed', error: 'Step 2: the report was not sent' },
        files: [{ path: '/workspace/out/report.md', size: 8 }],
        screenshots: [{ number: 1, picture: { media_type: 'image/png', size: image.bytes.length } }],
        left_out: [],
        redactions: [
          { kind: 'Authorization header', place: 'tool calls', count: 1 },
          { kind: 'GitHub token', place: 'tool results', count: 1 },
        ],
      });
      expect((record.timeline as { kind: string; status?: string }[]).map(({ kind, status }) => status ?? kind)).toEqual([
        'message',
        'thought',
        'message',
        'done',
        'done',
        'request',
        'failed',
      ]);
    }
  });

  it('writes Markdown in which no text can end its fence', async () => {
    expect((await exportRun('hostile', '--to', 'run.md')).code).toBe(0);
    const text = await service.read('run.md');
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('\u202e');
    // Outside of fences and code spans, nothing is left of the hostile text but escaped HTML.
    let fence = '';
    const prose: string[] = [];
    for (const line of text.split('\n')) {
      const ticks = /^`{3,}/.exec(line)?.[0] ?? '';
      if (fence === '' && ticks !== '') fence = ticks;
      else if (fence === '') prose.push(line.replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, ''));
      else if (line === fence) fence = '';
    }
    expect(fence).toBe('');
    expect(prose.join('\n')).not.toMatch(/<script|<img|<svg|onload=alert\(3\)>/);
    expect(prose.join('\n')).toContain('## Redactions');
    expect(prose).not.toContain('There are no messages.');
  });

  it('uses a file named after the run, and does not overwrite files without --force', async () => {
    const first = await exportRun('ordinary', '--no-files', '--no-screenshots', '--json');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.json()).toMatchObject({
      file: 'run-1.html',
      format: 'html',
      left_out: ['The files of the run were left out with --no-files.', 'The screenshots were left out with --no-screenshots.'],
    });
    const page = await service.read('run-1.html');
    expect(page).not.toContain('data:image');
    const second = await exportRun('ordinary');
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toContain('--force');
    expect((await exportRun('ordinary', '--force')).code).toBe(0);
    const unclear = await exportRun('ordinary', '--to', 'run.pdf');
    expect(unclear.stderr).toContain('Use .html, .md, or .json, or specify the format with --format.');
    expect(unclear.code).toBe(2);
  });

  it('uses any name that the user chooses', async () => {
    const answer = await exportRun('ordinary', '--to', 'a\\b: 1. ', '--format', 'md', '--no-files', '--no-screenshots');
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(await service.read('a\\b: 1. ')).toContain('ordinary');
  });

  it('stays in its folder, whatever number the service sends', async () => {
    const id = runs.ordinary as string;
    const { run } = await service.get(id);
    const foreign = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...run, run_number: '/../../outside' } }),
      'GET /v2/runs/:id/messages': () => ({ messages: [], total: 0 }),
    });
    const cwd = path.join(await temporaryFolder(), 'home', 'work');
    await mkdir(cwd, { recursive: true });
    const answer = await runCli(['runs', 'export', id, '--no-files', '--no-screenshots'], foreign.optionsIn(cwd, service.service.teamId));
    expect(answer.code).toBe(0);
    expect(await readdir(cwd)).toContain('run-_______outside.html');
    expect(await readdir(path.dirname(cwd))).toEqual(['work']);
  });

  it('contains all messages of a long run in order', async () => {
    const run = await service.start((await service.get(runs.ordinary as string)).run.agent_id as string, 'long');
    await service.until(run, 'completed');
    const { stdout } = await service.cli(['runs', 'export', run, '--to', '-']);
    const numbers = [...stdout.matchAll(/>Message (\d+)\.</g)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: 400 }, (_, index) => index));
  });
});

describeWithChromium('an exported page in a browser', () => {
  it('executes nothing, loads nothing, and fits light, dark, phone, and desktop', async () => {
    expect((await exportRun('hostile', '--to', 'hostile.html')).code).toBe(0);
    const text = await service.read('hostile.html');
    expect([...'\u202e\u001b\u0007'].filter((character) => text.includes(character))).toEqual([]);
    const papers = new Set<string>();
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [360, 'dark'],
    ] as const) {
      const { page, problems } = await newPage({ viewport: { width, height: 800 }, colorScheme });
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url().slice(0, 100)));
      await page.goto(pathToFileURL(path.join(service.folder, 'hostile.html')).href);
      const findings = (await page.evaluate(inspection)) as { paper: string };
      expect(findings).toMatchObject({
        images: 1,
        brokenCount: 0,
        scrollsSideways: false,
        active: 0,
        handlers: 0,
        lostLinks: 0,
      });
      expect(problems).toEqual([]);
      expect(requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
      papers.add(findings.paper);
    }
    expect(papers.size).toBe(2);
  });
});

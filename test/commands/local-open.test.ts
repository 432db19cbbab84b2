/** `aops local open`: how the sign-in code is delivered. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
let env: Record<string, string>;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  run = await service.run('- say: hi');
  // The state after `local up`. Without a profile, the code is created with the token of the data directory.
  const folder = await temporaryFolder();
  env = folderEnv(folder);
  const { url, teamId, instanceId } = service.service;
  const state = { url, team_id: teamId, instance_id: instanceId, data_dir: service.dataDirectory };
  await mkdir(path.join(folder, 'data'), { recursive: true });
  await writeFile(path.join(folder, 'data', 'local.json'), JSON.stringify(state));
});

const open = (argv: readonly string[] = [], options: CliOptions = {}): Promise<CliResult> =>
  runCli(['local', 'open', ...argv], { ...options, env: { ...env, NO_COLOR: '1', ...options.env } });

/** A folder with an `xdg-open` that records its argument and ends with an exit code. */
async function opener(code: number): Promise<{ program: string; env: Record<string, string>; readUrl: () => Promise<string> }> {
  const folder = await temporaryFolder();
  const note = path.join(folder, 'given');
  const program = path.join(folder, 'xdg-open');
  await writeFile(program, `#!/bin/sh\nprintf '%s' "$*" > ${note}.new && mv ${note}.new ${note}\nexit ${code}\n`);
  await chmod(program, 0o755);
  return {
    program,
    env: { PATH: `${folder}:/usr/bin:/bin`, DISPLAY: ':99' },
    readUrl: () => eventually('the browser is opened', () => readFile(note, 'utf8').catch(() => undefined)),
  };
}

const signIn = (url: string): Promise<Response> =>
  fetch(new URL('/page/session', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: new URLSearchParams(new URL(url).hash.slice(1)).get('code') }),
  });

describe('local open', () => {
  it('prints a URL that works once without a terminal, with the code in the fragment', async () => {
    const result = await open(['--json']);
    expect([result.code, result.stderr]).toEqual([0, '']);
    const output = result.json<{ url: string; opened: boolean; expires_at: string }>();
    expect(output).toMatchObject({ opened: false });
    expect(output.url).toMatch(new RegExp(`^${service.service.url}/#code=[\\w-]{32}&view=/$`));
    expect(result.stdout).not.toContain(service.service.token);
    expect((await signIn(output.url)).status).toBe(200);
    expect((await signIn(output.url)).status).toBe(403);
    expect((await open()).stdout).toMatch(/^URL\thttp.*#code=/);
  });

  it('opens a run or the inbox', async () => {
    expect((await open(['@latest', '--json'])).json<{ url: string }>().url).toContain(`&view=/runs/${run}`);
    expect((await open(['1', '--json'])).json<{ url: string }>().url).toContain(`&view=/runs/${run}`);
    expect((await open([run.toUpperCase(), '--json'])).json<{ url: string }>().url).toContain(`&view=/runs/${run}`);
    expect((await open(['--inbox', '--json'])).json<{ url: string }>().url).toContain('&view=/inbox');
    expect((await open(['nonsense'])).code).toBe(2);
    expect((await open(['@latest', '--inbox'])).stderr).toContain('A run and --inbox cannot be combined.');
  });

  it('opens a browser on a terminal without printing the code', async () => {
    const browser = await opener(0);
    const result = await open([], { tty: true, env: browser.env });
    expect([result.code, result.stderr]).toEqual([0, '']);
    const openedUrl = await browser.readUrl();
    expect((await signIn(openedUrl)).status).toBe(200);
    expect(result.stdout).toContain(`Opened: ${service.service.url}/#/`);
    expect(result.stdout).not.toContain('code=');
    const secondBrowser = await opener(0);
    expect((await open(['--browser', '--json'], { env: secondBrowser.env })).json()).toMatchObject({ opened: true });
    expect(await secondBrowser.readUrl()).toContain('#code=');
  });

  it('opens the browser that BROWSER specifies, even without a display, and the next one if it fails', async () => {
    const [brokenOpener, working] = [await opener(3), await opener(0)];
    const programs = [brokenOpener, working].map(({ program }) => program);
    const { code, stderr } = await open([], { tty: true, env: { BROWSER: ['/nowhere', ...programs].join(':'), PATH: '/usr/bin:/bin' } });
    expect([code, stderr]).toEqual([0, '']);
    expect(await brokenOpener.readUrl()).toContain('#code=');
    expect(await working.readUrl()).toBe(await brokenOpener.readUrl());
  });

  it('prints the URL with a note if no browser can be opened', async () => {
    const brokenOpener = await opener(3);
    for (const options of [{ env: brokenOpener.env }, { env: { PATH: '/nowhere', DISPLAY: ':99' } }, { env: { PATH: '/nowhere' } }]) {
      const result = await open([], { tty: true, columns: 140, ...options });
      expect(result.code).toBe(0);
      expect(result.stdout).toMatch(/URL: +http\S+#code=/);
      expect(result.stderr).toContain('No browser could be opened.');
    }
    const printResult = await open(['--no-browser'], { tty: true, columns: 140, env: brokenOpener.env });
    expect([printResult.stderr, printResult.stdout]).toEqual(['', expect.stringContaining('#code=')]);
  });

  it('says how to start the service if it is not running', async () => {
    const result = await runCli(['local', 'open', '--json'], { env: folderEnv(await temporaryFolder()) });
    expect(result.code).toBe(8);
    expect(JSON.parse(result.stderr)).toMatchObject({
      error: { code: 'local_service_not_running', hint: expect.stringContaining('aops local up') },
    });
  });
});

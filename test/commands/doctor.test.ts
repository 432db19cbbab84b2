/** `aops doctor`: the result of every check, what to do about problems, and that no secret is shown. */

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { needsContainment } from '../support/contained.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Check {
  id: string;
  status: string;
  detail: string;
  hint: string | null;
}

const checksOf = (result: CliResult): Record<string, Check> =>
  Object.fromEntries(result.json<{ checks: Check[] }>().checks.map((check) => [check.id, check]));

const failingChecks = (result: CliResult): string[] =>
  Object.values(checksOf(result)).flatMap(({ id, status }) => (status === 'fail' ? [id] : []));

/** A different service with configurable responses. */
async function serverWith(headers: Record<string, string>, body: unknown): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(typeof body === 'function' ? body() : body));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('aops doctor', () => {
  it('finds no problems in a working setup', async () => {
    const result = await service.cli(['doctor', '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const { ok, checks } = result.json<{ ok: boolean; checks: Check[] }>();
    expect(ok).toBe(true);
    expect(checks.every(({ status, hint }) => (status === 'ok' || status === 'skip' ? hint === null : hint !== null))).toBe(true);
    expect(checksOf(result)).toMatchObject({
      address: { detail: expect.stringContaining(`${service.service.url} from AOPS_BASE_URL`) },
      credential: { detail: expect.stringContaining('from AOPS_API_KEY') },
      service: { status: 'ok', detail: expect.stringContaining('responds in') },
      access: { status: 'ok' },
      clock: { status: 'ok' },
      'rate limit': { status: 'ok', detail: expect.stringMatching(/^\d+ of \d+ requests remaining$/) },
      interface: { status: 'ok', detail: '2026-07-18' },
      proxy: { detail: 'none' },
      'open changes': { detail: 'none' },
    });
    expect(result.stdout).not.toContain(service.service.token);
  });

  it('shows a line for each check on a terminal, with what to do below it', async () => {
    const result = await service.cli(['doctor', '--offline'], { tty: true, columns: 100, env: { SHELL: '/bin/bash', NO_COLOR: '1' } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^Service: +skip {2}not checked$/m);
    expect(result.stdout).toMatch(/^Completion: +warn {2}not set up for bash\n +Add a line[\s\S]*see `aops completion --help`/m);
  });

  it('prints a line with four cells for each check in a pipe', async () => {
    const { stdout } = await service.cli(['doctor', '--offline'], { env: { SHELL: '/bin/bash' } });
    const lines = stdout.slice(0, -1).split('\n');
    expect(lines.every((line) => line.split('\t').length === 4)).toBe(true);
    expect(lines).toContainEqual(
      expect.stringMatching(/^Completion\twarn\tnot set up for bash\tAdd a line [^\t]*see `aops completion --help`/),
    );
  });

  it('says how to start when not signed in, and ends with 1', async () => {
    const env = folderEnv(await temporaryFolder());
    const result = await runCli(['doctor', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failingChecks(result)).toEqual(['address', 'credential']);
    expect(checksOf(result).address?.hint).toContain('aops local up');
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'doctor_failed', exit: 1 } });
  });

  it('distinguishes a rejected key from an unreachable service', async () => {
    const refusal = await service.cli(['doctor', '--json'], { env: { AOPS_API_KEY: 'not-the-right-key' } });
    expect(refusal.code).toBe(1);
    expect(failingChecks(refusal)).toEqual(['access']);
    expect(checksOf(refusal).service).toMatchObject({ status: 'ok', detail: 'responds' });
    expect(refusal.stdout).not.toContain('not-the-right-key');

    const missingResult = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL: 'http://127.0.0.1:9' } });
    expect(missingResult.code).toBe(1);
    expect(failingChecks(missingResult)).toEqual(['service']);
    expect(checksOf(missingResult).service?.detail).toBe('Could not reach http://127.0.0.1:9: the connection was refused.');
    expect(checksOf(missingResult).access).toMatchObject({ status: 'skip' });
  });

  it('detects a wrong clock, an exhausted limit and another interface', async () => {
    const body = { team: { id: service.service.teamId, name: 'Far', role: 'member' }, info: { version: '2027-01-01' } };
    const date = new Date(Date.now() + 10 * 60_000).toUTCString();
    const AOPS_BASE_URL = await serverWith({ date, 'ratelimit-remaining': '7', 'ratelimit-limit': '50' }, body);
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(checksOf(result)).toMatchObject({
      access: { status: 'ok', detail: 'team Far' },
      clock: { status: 'warn', detail: expect.stringMatching(/^(10m|9m 59s|10m 1s) behind the service$/) },
      'rate limit': { status: 'ok', detail: '7 of 50 requests remaining' },
      interface: { status: 'warn', detail: '2027-01-01; this version of aops supports 2026-07-18' },
    });
  });

  it('skips what the service does not report instead of passing it', async () => {
    const AOPS_BASE_URL = await serverWith({ date: 'nonsense' }, { team: { id: 'x', name: 'T' } });
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(checksOf(result)).toMatchObject({ clock: { status: 'skip' }, 'rate limit': { status: 'skip' }, interface: { status: 'warn' } });
  });

  it.each(['null', '[]', '{}', '{"team":null}'])('does not accept %s as the response of a service', async (text) => {
    const AOPS_BASE_URL = await serverWith({}, JSON.parse(text));
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(result.code).toBe(1);
    expect(failingChecks(result)).toEqual(['access']);
    expect(checksOf(result).access?.hint).toContain('Check that the base URL belongs to an agent operations service');
    const answers = [{ team: { id: 'x', name: 'T' } }, JSON.parse(text)];
    const otherServer = await serverWith({}, () => answers.shift());
    expect(checksOf(await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL: otherServer } }))).toMatchObject({
      access: { status: 'ok' },
      interface: { status: 'warn' },
    });
  });

  it('reports that something else responds instead of suggesting to start the service', async () => {
    const AOPS_BASE_URL = await serverWith({ 'content-type': 'text/html' }, '<html>');
    const { service: serviceCheck } = checksOf(await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } }));
    expect(serviceCheck).toMatchObject({ status: 'fail', detail: expect.stringContaining('the answer was text/html, not JSON') });
    expect(serviceCheck?.hint).toMatch(/^Check the base URL/);
  });

  it('continues after a broken configuration', async () => {
    const folder = await temporaryFolder();
    const env = folderEnv(folder);
    const { mkdir, writeFile } = await import('node:fs/promises');
    await mkdir(env.AOPS_CONFIG_DIR as string, { recursive: true });
    await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'config.json'), '{ broken');
    const result = await runCli(['doctor', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failingChecks(result)).toEqual(['configuration']);
    expect(checksOf(result)).toMatchObject({ credential: { status: 'skip' }, node: { status: 'ok' }, folders: { status: 'ok' } });
  });

  it('names the proxy in use, and a proxy that cannot be used', async () => {
    const env = { AOPS_BASE_URL: 'https://agents.example.com', HTTPS_PROXY: 'http://user:hush-hush-hush@proxy.example.com:3128' };
    const namedResult = await service.cli(['doctor', '--offline', '--json'], { env });
    expect(checksOf(namedResult).proxy).toMatchObject({ status: 'ok', detail: 'http://proxy.example.com:3128 from HTTPS_PROXY' });
    expect(namedResult.stdout).not.toContain('hush');
    const refusal = await service.cli(['doctor', '--offline', '--json'], { env: { ...env, HTTPS_PROXY: 'socks5://proxy.example.com' } });
    expect(failingChecks(refusal)).toContain('proxy');
  });

  it('fails if certificates are not verified', async () => {
    const env = { AOPS_BASE_URL: 'https://agents.example.com', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const result = await service.cli(['doctor', '--offline', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failingChecks(result)).toEqual(['tls']);
    const refusal = await service.cli(['doctor', '--offline', '--json', '--ca-file', 'nowhere.pem'], {
      env: { AOPS_BASE_URL: 'https://agents.example.com' },
    });
    expect(checksOf(refusal).tls).toMatchObject({ status: 'fail', detail: expect.stringContaining('nowhere.pem') });
  });

  it('finds completion in the start-up file of the shell', async () => {
    await service.file('home/.zshrc', 'source <(aops completion zsh)\n');
    const env = { SHELL: '/usr/bin/zsh', HOME: path.join(service.folder, 'home') };
    expect(checksOf(await service.cli(['doctor', '--offline', '--json'], { env })).completion).toMatchObject({ status: 'ok' });
    const otherResult = await service.cli(['doctor', '--offline', '--json'], { env: { ...env, SHELL: '/usr/bin/bash' } });
    expect(checksOf(otherResult).completion).toMatchObject({ status: 'warn', hint: expect.stringContaining('aops completion --help') });
  });

  it('detects a local service that is gone', async () => {
    const staleState = { pid: 1, url: 'http://127.0.0.1:9', data_dir: '/x', instance_id: 'gone' };
    await service.file(
      path.join(path.relative(service.folder, service.env.AOPS_DATA_DIR as string), 'local.json'),
      JSON.stringify(staleState),
    );
    const result = await service.cli(['doctor', '--offline', '--json']);
    expect(result.code).toBe(0);
    expect(checksOf(result)['local service']).toMatchObject({ status: 'warn', hint: expect.stringContaining('aops local up') });
  });
});

it('tries whether commands of runs can be contained on this machine', async () => {
  const folder = await temporaryFolder();
  const result = await runCli(['doctor', '--offline', '--json'], { env: { ...folderEnv(folder), PATH: process.env.PATH ?? '' } });
  const { status, detail, hint } = checksOf(result).commands as Check;
  if (needsContainment === undefined)
    expect({ status, detail }).toEqual({ status: 'ok', detail: 'can be contained on this machine (tested)' });
  else expect({ status, hint }).toMatchObject({ status: 'warn', hint: expect.stringContaining('--exec host') });
});

it('shows the free disk space for the data of a local service', async () => {
  const result = await runCli(['doctor', '--json'], { env: folderEnv(await temporaryFolder()) });
  expect(checksOf(result).disk).toMatchObject({ detail: expect.stringMatching(/^[\d.]+ [kMGT]?B free for /) });
});

it('reports the version of git, and warns without git', async () => {
  const found = checksOf(await service.cli(['doctor', '--offline', '--json'], { env: { PATH: process.env.PATH ?? '' } })).git;
  expect(found).toMatchObject({ status: 'ok', detail: expect.stringMatching(/^\d+\.\d+/) });
  const missing = checksOf(await service.cli(['doctor', '--offline', '--json'], { env: { PATH: '/nonexistent' } })).git;
  expect(missing).toMatchObject({
    status: 'warn',
    detail: 'not found in your PATH',
    hint: expect.stringContaining('aops runs start --repo'),
  });
  const bin = await temporaryFolder();
  await writeFile(path.join(bin, 'git'), '#!/bin/sh\necho git version 2.34.1\n', { mode: 0o700 });
  const old = checksOf(await service.cli(['doctor', '--offline', '--json'], { env: { PATH: bin } })).git;
  expect(old).toMatchObject({ status: 'warn', detail: '2.34.1 is too old for repositories at URLs' });
});

it('reports the browser that runs can use, and warns without one', async () => {
  const bin = await temporaryFolder();
  const chromium = path.join(bin, 'chromium');
  await writeFile(chromium, '#!/bin/sh\n', { mode: 0o700 });
  const found = checksOf(await service.cli(['doctor', '--offline', '--json'], { env: { PATH: bin } })).browser;
  expect(found).toMatchObject({ status: 'ok', detail: chromium });
  const missing = checksOf(await service.cli(['doctor', '--offline', '--json'], { env: { AOPS_CHROMIUM: `${chromium}-2` } })).browser;
  expect(missing).toMatchObject({
    status: 'warn',
    detail: 'not available for runs',
    hint: expect.stringContaining(`${chromium}-2 from AOPS_CHROMIUM or --chromium does not exist`),
  });
});

it('reports a place for temporary files that cannot be used as one of the problems', async () => {
  const folder = await temporaryFolder();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = path.join(folder, 'missing');
  onTestFinished(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  const { commands, folders } = checksOf(await runCli(['doctor', '--json'], { env: folderEnv(folder) }));
  expect(commands).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('No temporary files can be created'),
    hint: 'Set TMPDIR to a folder in which you can create files.',
  });
  expect(folders?.status).toBe('ok');
});

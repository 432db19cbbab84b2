/** `aops doctor`: what is right, what is not, and that it says what to do without telling a secret. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
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

const failing = (result: CliResult): string[] =>
  Object.values(checksOf(result)).flatMap(({ id, status }) => (status === 'fail' ? [id] : []));

/** Another service than ours, that says what it is told to. */
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
  it('finds nothing wrong where nothing is', async () => {
    const result = await service.cli(['doctor', '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const { ok, checks } = result.json<{ ok: boolean; checks: Check[] }>();
    expect(ok).toBe(true);
    expect(checks.every(({ status, hint }) => (status === 'ok' || status === 'skip' ? hint === null : hint !== null))).toBe(true);
    expect(checksOf(result)).toMatchObject({
      address: { detail: expect.stringContaining(`${service.service.url} from AOPS_BASE_URL`) },
      credential: { detail: expect.stringContaining('from AOPS_API_KEY') },
      service: { status: 'ok', detail: expect.stringContaining('answers in') },
      access: { status: 'ok' },
      clock: { status: 'ok' },
      'rate limit': { status: 'ok', detail: expect.stringMatching(/^\d+ of \d+ requests left$/) },
      interface: { status: 'ok', detail: '2026-07-18' },
      proxy: { detail: 'none' },
      'open changes': { detail: 'none' },
    });
    expect(result.stdout).not.toContain(service.service.token);
  });

  it('shows people a line for each check, and what to do under it', async () => {
    const result = await service.cli(['doctor', '--offline'], { tty: true, columns: 100, env: { SHELL: '/bin/bash', NO_COLOR: '1' } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^Service: +skip {2}not asked$/m);
    expect(result.stdout).toMatch(/^Completion: +warn {2}not set up for bash\n +See `aops completion --help`/m);
  });

  it('tells programs a line of four cells for each check', async () => {
    const { stdout } = await service.cli(['doctor', '--offline'], { env: { SHELL: '/bin/bash' } });
    const lines = stdout.slice(0, -1).split('\n');
    expect(lines.every((line) => line.split('\t').length === 4)).toBe(true);
    expect(lines).toContainEqual(expect.stringMatching(/^Completion\twarn\tnot set up for bash\tSee `aops completion --help`/));
  });

  it('says where to begin when nobody is signed in, and ends with 1', async () => {
    const env = folderEnv(await temporaryFolder());
    const result = await runCli(['doctor', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failing(result)).toEqual(['address', 'credential']);
    expect(checksOf(result).address?.hint).toContain('aops local up');
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'doctor_failed', exit: 1 } });
  });

  it('tells a refused key from a service that is not there', async () => {
    const refused = await service.cli(['doctor', '--json'], { env: { AOPS_API_KEY: 'not-the-right-key' } });
    expect(refused.code).toBe(1);
    expect(failing(refused)).toEqual(['access']);
    expect(checksOf(refused).service).toMatchObject({ status: 'ok', detail: 'answers' });
    expect(refused.stdout).not.toContain('not-the-right-key');

    const gone = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL: 'http://127.0.0.1:9' } });
    expect(gone.code).toBe(1);
    expect(failing(gone)).toEqual(['service']);
    expect(checksOf(gone).service?.detail).toBe('Could not reach http://127.0.0.1:9: the connection was refused.');
    expect(checksOf(gone).access).toMatchObject({ status: 'skip' });
  });

  it('notices a clock that is wrong, an exhausted limit and another interface', async () => {
    const body = { team: { id: service.service.teamId, name: 'Far', role: 'member' }, info: { version: '2027-01-01' } };
    const date = new Date(Date.now() + 10 * 60_000).toUTCString();
    const AOPS_BASE_URL = await serverWith({ date, 'ratelimit-remaining': '7', 'ratelimit-limit': '50' }, body);
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(checksOf(result)).toMatchObject({
      access: { status: 'ok', detail: 'team Far' },
      clock: { status: 'warn', detail: expect.stringMatching(/^(10m|9m 59s|10m 1s) behind the service$/) },
      'rate limit': { status: 'ok', detail: '7 of 50 requests left' },
      interface: { status: 'warn', detail: '2027-01-01; this aops is made for 2026-07-18' },
    });
  });

  it('says that a service does not tell, rather than that all is well', async () => {
    const AOPS_BASE_URL = await serverWith({ date: 'nonsense' }, { team: { id: 'x', name: 'T' } });
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(checksOf(result)).toMatchObject({ clock: { status: 'skip' }, 'rate limit': { status: 'skip' }, interface: { status: 'warn' } });
  });

  it.each(['null', '[]', '{}', '{"team":null}'])('does not take %s for the answer of a service', async (text) => {
    const AOPS_BASE_URL = await serverWith({}, JSON.parse(text));
    const result = await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } });
    expect(result.code).toBe(1);
    expect(failing(result)).toEqual(['access']);
    expect(checksOf(result).access?.hint).toContain('Check that the base URL belongs to an agent operations service');
    const answers = [{ team: { id: 'x', name: 'T' } }, JSON.parse(text)];
    const other = await serverWith({}, () => answers.shift());
    expect(checksOf(await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL: other } }))).toMatchObject({
      access: { status: 'ok' },
      interface: { status: 'warn' },
    });
  });

  it('says that something else answers, rather than to start what is there', async () => {
    const AOPS_BASE_URL = await serverWith({ 'content-type': 'text/html' }, '<html>');
    const { service: found } = checksOf(await service.cli(['doctor', '--json'], { env: { AOPS_BASE_URL } }));
    expect(found).toMatchObject({ status: 'fail', detail: expect.stringContaining('the answer was text/html, not JSON') });
    expect(found?.hint).toMatch(/^Check the base URL/);
  });

  it('goes on after a broken configuration', async () => {
    const folder = await temporaryFolder();
    const env = folderEnv(folder);
    const { mkdir, writeFile } = await import('node:fs/promises');
    await mkdir(env.AOPS_CONFIG_DIR as string, { recursive: true });
    await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'config.json'), '{ broken');
    const result = await runCli(['doctor', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failing(result)).toEqual(['configuration']);
    expect(checksOf(result)).toMatchObject({ credential: { status: 'skip' }, node: { status: 'ok' }, folders: { status: 'ok' } });
  });

  it('names the proxy on the way, and one that cannot be used', async () => {
    const env = { AOPS_BASE_URL: 'https://agents.example.com', HTTPS_PROXY: 'http://user:hush-hush-hush@proxy.example.com:3128' };
    const named = await service.cli(['doctor', '--offline', '--json'], { env });
    expect(checksOf(named).proxy).toMatchObject({ status: 'ok', detail: 'http://proxy.example.com:3128 from HTTPS_PROXY' });
    expect(named.stdout).not.toContain('hush');
    const bad = await service.cli(['doctor', '--offline', '--json'], { env: { ...env, HTTPS_PROXY: 'socks5://proxy.example.com' } });
    expect(failing(bad)).toContain('proxy');
  });

  it('refuses certificates that nobody verifies', async () => {
    const env = { AOPS_BASE_URL: 'https://agents.example.com', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const result = await service.cli(['doctor', '--offline', '--json'], { env });
    expect(result.code).toBe(1);
    expect(failing(result)).toEqual(['tls']);
    const missing = await service.cli(['doctor', '--offline', '--json', '--ca-file', 'nowhere.pem'], {
      env: { AOPS_BASE_URL: 'https://agents.example.com' },
    });
    expect(checksOf(missing).tls).toMatchObject({ status: 'fail', detail: expect.stringContaining('nowhere.pem') });
  });

  it('finds completion in the start-up file of the shell', async () => {
    await service.file('home/.zshrc', 'source <(aops completion zsh)\n');
    const env = { SHELL: '/usr/bin/zsh', HOME: path.join(service.folder, 'home') };
    expect(checksOf(await service.cli(['doctor', '--offline', '--json'], { env })).completion).toMatchObject({ status: 'ok' });
    const other = await service.cli(['doctor', '--offline', '--json'], { env: { ...env, SHELL: '/usr/bin/bash' } });
    expect(checksOf(other).completion).toMatchObject({ status: 'warn', hint: expect.stringContaining('aops completion --help') });
  });

  it('notices a local service that is gone', async () => {
    const gone = { pid: 1, url: 'http://127.0.0.1:9', data_dir: '/x', instance_id: 'gone' };
    await service.file(path.join(path.relative(service.folder, service.env.AOPS_DATA_DIR as string), 'local.json'), JSON.stringify(gone));
    const result = await service.cli(['doctor', '--offline', '--json']);
    expect(result.code).toBe(0);
    expect(checksOf(result)['local service']).toMatchObject({ status: 'warn', hint: expect.stringContaining('aops local up') });
  });
});

it('says how much space is left for the data of a service that runs here', async () => {
  const result = await runCli(['doctor', '--json'], { env: folderEnv(await temporaryFolder()) });
  expect(checksOf(result).disk).toMatchObject({ detail: expect.stringMatching(/^[\d.]+ [kMGT]?B free for /) });
});

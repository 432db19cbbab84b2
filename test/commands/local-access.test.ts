/** Tokens, OAuth clients and teams of the local service, from creating them to the permissions after signing in with them. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
});

let folder: string;
let env: Record<string, string>;
beforeEach(async () => {
  folder = await temporaryFolder();
  env = folderEnv(folder);
  const login = await cli(['auth', 'login', '--profile', 'local', '--base-url', service.service.url, '--team', service.service.teamId], {
    stdin: service.service.token,
  });
  expect(login.code).toBe(0);
});

const cli = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> => runCli(argv, { cwd: folder, env, ...options });

async function ok(...argv: string[]): Promise<CliResult> {
  const result = await cli(argv);
  expect(result.code, result.stderr).toBe(0);
  return result;
}

const errorOf = ({ stderr }: CliResult) => (JSON.parse(stderr) as { error: { code: string; exit: number; hint?: string } }).error;
const names = async (...argv: string[]): Promise<string[]> =>
  (await ok(...argv, '--all', '--jq', '.data[].name')).stdout.trimEnd().split('\n');
const unique = (prefix: string): string => `${prefix}-${Math.random().toString(36).slice(2)}`;

describe('local token create', () => {
  it('creates nothing if there is no destination for the token or it exists already', async () => {
    const before = await names('local', 'token', 'list');
    await writeFile(path.join(folder, 'taken'), 'mine');
    for (const [flags, code] of [
      [[], 'usage'],
      [['--reveal', '-o', 'id'], 'usage'],
      [['--to', 'taken'], 'file_exists'],
      [['--to', 'nowhere/x'], 'file_not_writable'],
      [['--save-profile', 'local'], 'profile_exists'],
      [['--save-profile', 'no/name'], 'profile_name_invalid'],
      [['--reveal', '--scope', 'admin'], 'usage'],
      [['--reveal', '--expires', '0'], 'usage'],
      [['--reveal', '--expires', 'soon'], 'usage'],
      [['--reveal', '--name', ''], 'usage'],
      [['--to', 'new', '--team', 'no such team'], 'team_not_found'],
    ] as const) {
      const refusal = await cli(['local', 'token', 'create', 'x', ...flags, ...(flags.includes('-o' as never) ? [] : ['--json'])]);
      expect(refusal.code, flags.join(' ')).toBeGreaterThan(0);
      expect(refusal.stdout).toBe('');
      if (!flags.includes('-o' as never)) expect(errorOf(refusal).code, flags.join(' ')).toBe(code);
    }
    expect(await names('local', 'token', 'list')).toEqual(before);
    expect(await readFile(path.join(folder, 'taken'), 'utf8')).toBe('mine');
    // No file remains for a token that was not created.
    await expect(stat(path.join(folder, 'new'))).rejects.toThrow('ENOENT');
  });

  it('saves it as a profile with exactly the requested scopes', async () => {
    const name = unique('dash');
    const createResult = await ok(
      'local',
      'token',
      'create',
      name,
      '--scope',
      'runs:read',
      '--scope',
      'files:read',
      '--save-profile',
      'dash',
      '--json',
    );
    expect(createResult.json()).toMatchObject({ name, scopes: ['runs:read', 'files:read'], profile: 'dash', expires_at: null });
    expect(createResult.stdout + createResult.stderr).not.toContain('aops_token_');
    expect((await ok('agents', 'list', '--profile', 'dash', '--jq', '.data[].name')).stdout).toContain('greeter');
    const refusal = await cli(['agents', 'create', 'x', '--profile', 'dash', '--json']);
    expect([refusal.code, errorOf(refusal).code]).toEqual([5, 'insufficient_scope']);
    const status = (await ok('auth', 'status', '--profile', 'dash', '--json')).json<{ credential: { access: object } }>();
    expect(status.credential.access).toEqual({ name, scopes: ['runs:read', 'files:read'], expires_at: null, owner: false });
    expect((await ok('auth', 'status', '--profile', 'dash')).stdout).toContain('Scope\truns:read files:read\n');
    expect((await ok('auth', 'status')).stdout).toContain('Scope\tfull access, including teams and credentials\n');
    const managing = await cli(['local', 'token', 'list', '--profile', 'dash', '--json']);
    expect([managing.code, errorOf(managing)]).toMatchObject([5, { code: 'owner_only', hint: expect.stringContaining('--profile local') }]);
  });

  it('with only the scope for messages cannot answer a waiting run by sending a message', async () => {
    await service.agent('- ask: { id: who, questions: [{ question: "Who?" }] }', 'asker');
    const run = (await ok('runs', 'start', '--agent', 'asker', '-o', 'id')).stdout.trim();
    await service.until(run, 'waiting');
    await ok('local', 'token', 'create', unique('writer'), '--scope', 'runs:write', '--save-profile', 'writer');
    // This credential cannot read the run, so the service itself rejects a message that would be an answer.
    const refusal = await cli(['runs', 'send', run, 'me', '--profile', 'writer', '--json']);
    expect([refusal.code, errorOf(refusal)]).toMatchObject([
      6,
      { code: 'human_request_pending', message: expect.stringContaining('The message was not sent.') },
    ]);
    await ok('local', 'token', 'create', unique('reader'), '--scope', 'runs:read,runs:write', '--save-profile', 'reader');
    const denial = await cli(['runs', 'send', run, 'me', '--as-answer', '--profile', 'reader', '--json']);
    expect([denial.code, errorOf(denial)]).toMatchObject([
      5,
      { code: 'insufficient_scope', message: expect.stringContaining('approvals:write') },
    ]);
    expect((await ok('runs', 'get', run, '--jq', '.status')).stdout).toBe('waiting\n');
    expect((await ok('runs', 'messages', run, '--json')).stdout).not.toContain('"me"');
    await ok('local', 'token', 'create', unique('both'), '--scope', 'runs:read,runs:write,approvals:write', '--save-profile', 'both');
    await ok('runs', 'send', run, 'me', '--as-answer', '--profile', 'both');
    await service.until(run, 'completed');
    await ok('runs', 'send', run, 'more', '--profile', 'writer');
  });

  it('writes it to a new file that only its owner can read', async () => {
    const createResult = await ok('local', 'token', 'create', unique('ci'), '--expires', '90d', '--to', 'ci.key');
    const file = path.join(folder, 'ci.key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const key = (await readFile(file, 'utf8')).trimEnd();
    expect(createResult.stdout + createResult.stderr).not.toContain(key);
    expect(createResult.stdout).toContain(`File\t${file}\n`);
    const asJob = await cli(['auth', 'status', '--jq', '.credential.access.expires_at'], {
      env: { ...service.env, ...folderEnv(await temporaryFolder()), AOPS_API_KEY: key },
    });
    expect(Date.parse(asJob.stdout.trim()) - Date.now()).toBeGreaterThan(89 * 86_400_000);
  });

  it('prints it with --reveal', async () => {
    const revealedToken = await ok('local', 'token', 'create', unique('job'), '--reveal', '--jq', '.token');
    expect(revealedToken.stdout).toMatch(/^aops_token_[\w-]{43}\n$/);
    expect(revealedToken.stderr).toBe('');
    expect((await ok('local', 'token', 'create', unique('job'), '--reveal')).stdout).toMatch(/Token\taops_token_/);
  });

  it('sends nothing with --dry-run and leaves no file', async () => {
    const before = await names('local', 'token', 'list');
    expect((await ok('local', 'token', 'create', 'x', '--to', 'dry.key', '--dry-run')).json()).toMatchObject({
      body: { name: 'x' },
    });
    await expect(stat(path.join(folder, 'dry.key'))).rejects.toThrow('ENOENT');
    expect(await names('local', 'token', 'list')).toEqual(before);
  });
});

describe('local token revoke', () => {
  it('revokes it by ID or by a unique name', async () => {
    const name = unique('twin');
    const [firstToken, secondToken] = [
      (await ok('local', 'token', 'create', name, '--save-profile', 'one', '-o', 'id')).stdout.trim(),
      (await ok('local', 'token', 'create', name, '--save-profile', 'two', '-o', 'id')).stdout.trim(),
    ];
    const ambiguousResult = await cli(['local', 'token', 'revoke', name, '--yes']);
    expect(ambiguousResult.code).toBe(2);
    expect(ambiguousResult.stderr).toContain(firstToken);
    expect(await cli(['local', 'token', 'revoke', firstToken])).toMatchObject({ code: 2, stdout: '' });
    expect((await ok('local', 'token', 'revoke', firstToken.toUpperCase(), '--yes')).stdout).toBe(`Revoked ${name}.\n`);
    expect((await cli(['agents', 'list', '--profile', 'one'])).code).toBe(4);
    await ok('agents', 'list', '--profile', 'two');
    expect((await ok('local', 'token', 'revoke', name, '--yes', '--json')).json()).toMatchObject({ id: secondToken, name, success: true });
    for (const revokedToken of [name, firstToken])
      expect(errorOf(await cli(['local', 'token', 'revoke', revokedToken, '--yes', '--json']))).toMatchObject({
        code: 'token_not_found',
        exit: 3,
      });
  });
});

describe('local client', () => {
  it('works end to end: the service issues tokens to it and rejects it once it is revoked', async () => {
    const name = unique('nightly');
    const createResult = await ok('local', 'client', 'create', name, '--scope', 'runs:read,runs:write', '--reveal', '--json');
    const { client_id, client_secret, token_url } = createResult.json<Record<string, string>>() as {
      client_id: string;
      client_secret: string;
      token_url: string;
    };
    const target = ['--base-url', service.service.url, '--team', service.service.teamId];
    const login = await cli(
      ['auth', 'login', '--profile', 'nightly', ...target, '--client-id', client_id, '--token-url', token_url, '--scope', 'runs:read'],
      { stdin: client_secret },
    );
    expect(login).toMatchObject({ code: 0, stderr: '' });
    expect((await ok('agents', 'list', '--profile', 'nightly', '--jq', '.data[].name')).stdout).toContain('greeter');
    const status = await ok('auth', 'status', '--profile', 'nightly', '--json');
    expect(status.json()).toMatchObject({
      credential: { access: { name, scopes: ['runs:read'] }, client_id, token_url, token: { scope: 'runs:read' } },
    });
    expect(status.stdout + status.stderr + login.stdout).not.toContain(client_secret);
    // The client requested fewer scopes than it has.
    const refusal = await cli(['runs', 'start', '--agent', 'greeter', '--profile', 'nightly', '--json']);
    expect([refusal.code, errorOf(refusal).code]).toEqual([5, 'insufficient_scope']);
    const beyondResult = await cli(
      [
        'auth',
        'login',
        '--profile',
        'beyond',
        ...target,
        '--client-id',
        client_id,
        '--token-url',
        token_url,
        '--scope',
        'mcp:call',
        '--json',
      ],
      { stdin: client_secret },
    );
    expect([beyondResult.code, errorOf(beyondResult).code]).toEqual([4, 'invalid_scope']);
    await ok('profiles', 'use', 'local');
    expect(await names('local', 'client', 'list')).toContain(name);
    await ok('local', 'client', 'revoke', name, '--yes');
    const endResult = await cli(['agents', 'list', '--profile', 'nightly', '--json']);
    expect([endResult.code, errorOf(endResult).code]).toEqual([4, 'invalid_client']);
  });

  it('signs in with the token URL that the service advertises, or requests one if it advertises none', async () => {
    const name = unique('found');
    const createResult = await ok('local', 'client', 'create', name, '--reveal', '--jq', '.client_id, .client_secret');
    const [id = '', secret = ''] = createResult.stdout.trimEnd().split('\n');
    const login = await cli(
      ['auth', 'login', '--profile', 'found', '--base-url', service.service.url, '--team', service.service.teamId, '--client-id', id],
      { stdin: secret },
    );
    expect(login).toMatchObject({ code: 0, stderr: `The service advertises ${service.service.url}/oauth/token as its token URL.\n` });
    await ok('agents', 'list', '--profile', 'found');

    const silentServer = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silentServer.address() as AddressInfo).port}`;
    const result = await cli(['auth', 'login', '--profile', 'none', '--base-url', url, '--team', 't', '--client-id', id], {
      stdin: secret,
    });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('Pass it with --token-url');
    // Metadata of another issuer could send the secret anywhere.
    silentServer.removeAllListeners('request');
    const metadata = { issuer: 'https://evil.test', token_endpoint: 'https://evil.test/token', response_types_supported: [] };
    silentServer.on('request', (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata)),
    );
    const refusal = await cli(['auth', 'login', '--profile', 'none', '--base-url', url, '--team', 't', '--client-id', id], {
      stdin: secret,
    });
    expect([refusal.code, refusal.stderr.includes('evil.test')]).toEqual([2, false]);
    silentServer.closeAllConnections();
    await new Promise((resolve) => silentServer.close(resolve));
  });

  it('is saved as a profile with its team', async () => {
    const team = unique('Finance');
    await ok('local', 'team', 'create', team);
    const createResult = await ok('local', 'client', 'create', unique('c'), '--team', team, '--save-profile', 'finance', '--json');
    expect(createResult.stdout).not.toContain('aops_secret_');
    expect((await ok('auth', 'status', '--profile', 'finance', '--json')).json()).toMatchObject({
      team,
      credential: { access: { scopes: null } },
    });
    expect((await ok('agents', 'list', '--profile', 'finance', '--json')).json()).toMatchObject({ data: [], total: 0 });
    expect(await names('local', 'client', 'list', '--team', team)).toHaveLength(1);
    await ok('agents', 'create', 'own', '--profile', 'finance');
    expect(errorOf(await cli(['local', 'team', 'delete', team, '--yes', '--json']))).toMatchObject({ code: 'team_not_empty', exit: 6 });
  });
});

describe('local team', () => {
  it('is created, renamed, listed and deleted by ID or name', async () => {
    const [first, second] = [unique('A'), unique('B')];
    const id = (await ok('local', 'team', 'create', first, '-o', 'id')).stdout.trim();
    expect(errorOf(await cli(['local', 'team', 'create', first, '--json']))).toMatchObject({ code: 'team_name_taken', exit: 6 });
    expect((await ok('local', 'team', 'update', first, '--name', second)).stdout).toContain(`Name\t${second}\n`);
    expect(await names('local', 'team', 'list')).toEqual(expect.arrayContaining(['Local', second]));
    await ok('local', 'token', 'create', 'its', '--team', second, '--save-profile', 'its');
    expect(await cli(['local', 'team', 'delete', id])).toMatchObject({ code: 2 });
    expect((await ok('local', 'team', 'delete', id, '--yes')).stdout).toBe(`Deleted ${second}.\n`);
    expect((await cli(['auth', 'status', '--profile', 'its'])).code).toBe(4);
    expect(errorOf(await cli(['local', 'team', 'update', second, '--name', first, '--json']))).toMatchObject({
      code: 'team_not_found',
      exit: 3,
    });
    expect(errorOf(await cli(['local', 'team', 'delete', 'Local', '--yes', '--json']))).toMatchObject({ code: 'own_team', exit: 6 });
  });
});

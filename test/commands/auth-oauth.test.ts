/** Signing in with OAuth client credentials through the real command line, token endpoint and service. */
import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { afterTest, temporaryFolder } from '../support/temporary.ts';
import { TokenEndpoint } from '../support/token-endpoint.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
});

let env: Record<string, string>;
let tokens: TokenEndpoint;
beforeEach(async () => {
  env = folderEnv(await temporaryFolder());
  const tokenEndpoint = await TokenEndpoint.start();
  afterTest(() => tokenEndpoint.close());
  tokens = tokenEndpoint;
  tokens.grant = () => grantAnswer();
});

const grantAnswer = (overrides: object = {}) => ({
  status: 200,
  body: { access_token: service.service.token, token_type: 'Bearer', expires_in: 3600, ...overrides },
});
const encodings = (text: string): string[] => [text, encodeURIComponent(text), Buffer.from(text).toString('base64')];

/** Runs the command line and makes sure that no secret is shown unless it is requested. */
async function cli(argv: readonly string[], options: CliOptions & { shows?: string } = {}): Promise<CliResult> {
  const { shows, ...rest } = options;
  const result = await runCli([...argv], { ...rest, env: { ...env, ...rest.env } });
  const combinedOutput = (shows === undefined ? result.stdout : result.stdout.replaceAll(shows, '')) + result.stderr;
  const pair = new URLSearchParams({ v: tokens.clientSecret }).toString().slice(2);
  for (const secret of [service.service.token, tokens.clientSecret, pair].flatMap(encodings)) expect(combinedOutput).not.toContain(secret);
  return result;
}

const target = (): string[] => ['--base-url', service.service.url, '--team', service.service.teamId];
const login = (...flags: string[]): Promise<CliResult> =>
  cli(['auth', 'login', ...target(), '--client-id', tokens.clientId, '--token-url', tokens.url, ...flags], {
    stdin: `${tokens.clientSecret}\n`,
  });
const tokenFiles = async (): Promise<string[]> =>
  (await readdir(path.join(env.AOPS_CACHE_DIR as string, 'tokens')).catch(() => [])).map((name) =>
    path.join(env.AOPS_CACHE_DIR as string, 'tokens', name),
  );
const signedIn = (): Record<string, string> => ({
  ...tokens.env,
  AOPS_BASE_URL: service.service.url,
  AOPS_TEAM_ID: service.service.teamId,
});

describe('a token URL that the service advertises', () => {
  /** A service with nothing but metadata. */
  async function naming(token_endpoint: (ownUrl: string) => string) {
    const server = createServer((request, response) => {
      const issuer = `http://${request.headers.host}`;
      const isMetadata = request.url === '/.well-known/oauth-authorization-server';
      response.writeHead(isMetadata ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issuer, token_endpoint: token_endpoint(issuer), response_types_supported: [] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterTest(() => new Promise((resolve) => server.close(resolve)));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return (options: CliOptions, ...flags: string[]) =>
      cli(['auth', 'login', '--base-url', url, '--team', service.service.teamId, '--client-id', tokens.clientId, ...flags], options);
  }

  it('of another origin receives the secret only after it is confirmed with the flag', async () => {
    const signIn = await naming(() => tokens.url);
    const stdin = `${tokens.clientSecret}\n`;
    const refusal = await signIn({ stdin });
    expect(refusal.code).toBe(2);
    expect(refusal.stderr).toContain(`--token-url ${tokens.url}`);
    expect(tokens.forms).toEqual([]);
    await signIn({ stdin }, '--token-url', tokens.url);
    expect(tokens.forms).toHaveLength(1);
  });

  it('is quoted in the suggested command, so that pasting it is safe', async () => {
    const signIn = await naming(() => 'http://localhost:1/token;touch$IFS$PWD/pasted');
    const { stderr } = await signIn({ stdin: `${tokens.clientSecret}\n` });
    expect(stderr).toContain("--token-url 'http://localhost:1/token;touch$IFS$PWD/pasted'");
  });

  it('of the same origin receives the secret without confirmation', async () => {
    const signIn = await naming((ownUrl) => `${ownUrl}/token`);
    const failure = await signIn({ stdin: `${tokens.clientSecret}\n` });
    expect(failure.stderr).toContain('as its token URL.');
    expect(failure.stderr).not.toContain('--token-url http');
  });
});

describe('auth login --client-id', () => {
  it('checks the client with the token endpoint and the service, and stores it readable only by its owner', async () => {
    expect(await login('--scope', ' runs:read  runs:write')).toMatchObject({ code: 0, stderr: '' });
    expect(tokens.forms).toEqual([{ grant_type: 'client_credentials', scope: 'runs:read runs:write' }]);
    const file = path.join(env.AOPS_CONFIG_DIR as string, 'credentials.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8')).default).toEqual({
      type: 'client_credentials',
      client_id: tokens.clientId,
      client_secret: tokens.clientSecret,
      token_url: tokens.url,
      scope: 'runs:read runs:write',
      origin: service.service.url,
    });
    expect(await tokenFiles()).toEqual([]);
    expect((await cli(['agents', 'list', '--jq', '.data[].name'])).stdout).toBe('greeter\n');
  });

  it('stores nothing if the secret is rejected', async () => {
    const refusal = await cli(['auth', 'login', ...target(), '--client-id', tokens.clientId, '--token-url', tokens.url, '--json'], {
      stdin: 'wrong-secret-value',
    });
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).not.toContain('wrong-secret-value');
    expect(JSON.parse(refusal.stderr).error).toMatchObject({ code: 'invalid_client', status: 401, exit: 4 });
    expect(tokens.refusedCount).toBe(1);
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it('stores nothing if the service does not know the client', async () => {
    tokens.grant = () => grantAnswer({ access_token: 'at_unknown_to_the_service' });
    const refusal = await login();
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).not.toContain('at_unknown');
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it.each([
    [['--token-url', 'https://id.test/t'], '--token-url applies only to client credentials'],
    [['--scope', 'a'], '--scope applies only to client credentials'],
    [['--client-id', '', '--token-url', 'https://id.test/t'], '--client-id is empty'],
    [['--client-id', 'a', '--token-url', 'http://id.test/t'], 'must use https'],
    [['--client-id', 'a', '--token-url', 'https://u:p@id.test/t'], 'must not contain a user name'],
    [['--client-id', 'a', '--token-url', 'https://id.test/t', '--scope', 'a"b'], '--scope is not a valid scope'],
  ])('rejects %j', async (flags, message) => {
    const refusal = await cli(['auth', 'login', ...target(), ...flags], { stdin: 'x' });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });

  it('never accepts the secret as an argument', async () => {
    expect((await cli(['auth', 'login', '--help'])).stdout).not.toMatch(/--(client-)?secret/);
    expect((await cli(['auth', 'login', ...target(), '--client-id', 'a', '--token-url', tokens.url], { stdin: '' })).stderr).toContain(
      'not a client secret',
    );
  });
});

describe('tokens', () => {
  it('are stored on disk for later commands, readable only by their owner and without the secret', async () => {
    await login();
    for (const _ of [1, 2, 3]) expect((await cli(['agents', 'list'])).code).toBe(0);
    expect(tokens.forms).toHaveLength(2);
    const [file = ''] = await tokenFiles();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    const content = await readFile(file, 'utf8');
    expect(content).toContain(service.service.token);
    for (const secret of encodings(tokens.clientSecret)) expect(content).not.toContain(secret);
  });

  it('of a client in the environment need no profile and depend on ID, secret, scope and address', async () => {
    const list = (extraEnv: Record<string, string> = {}) => cli(['agents', 'list'], { env: { ...signedIn(), ...extraEnv } });
    expect((await list()).code).toBe(0);
    expect((await list()).code).toBe(0);
    expect(tokens.forms).toEqual([{ grant_type: 'client_credentials' }]);
    await list({ AOPS_SCOPE: 'runs:read' });
    expect(tokens.forms[1]).toEqual({ grant_type: 'client_credentials', scope: 'runs:read' });
    await list({ AOPS_TOKEN_URL: `${tokens.url}?tenant=2` });
    await list({ AOPS_BASE_URL: service.service.url.replace('127.0.0.1', 'localhost') });
    expect(tokens.forms).toHaveLength(4);
    expect((await list({ AOPS_CLIENT_SECRET: 'another' })).code).toBe(4);
    expect(tokens.userAgents[0]).toMatch(/^aops\/\S+ \(node \d+\.\d+\.\d+; \w+\)$/);
  });

  it('without a lifetime are not stored', async () => {
    tokens.grant = () => grantAnswer({ expires_in: undefined });
    for (const _ of [1, 2]) expect((await cli(['agents', 'list'], { env: signedIn() })).code).toBe(0);
    expect(tokens.forms).toHaveLength(2);
    expect(await tokenFiles()).toEqual([]);
  });

  it('that the service rejects are replaced once, also on disk', async () => {
    tokens.grant = (count) => (count === 1 ? grantAnswer({ access_token: 'at_revoked_abcdef' }) : grantAnswer());
    expect((await cli(['agents', 'list'], { env: signedIn() })).code).toBe(0);
    expect((await cli(['agents', 'list'], { env: signedIn() })).code).toBe(0);
    expect(tokens.forms).toHaveLength(2);
  });

  it('that are rejected again end the command without further requests', async () => {
    tokens.grant = (count) => grantAnswer({ access_token: `at_revoked_${count}_abcdef` });
    for (const _ of [1, 2, 3]) {
      const refusal = await cli(['agents', 'list', '--debug'], { env: signedIn() });
      expect(refusal).toMatchObject({ code: 4, stdout: '' });
      expect(refusal.stderr).not.toContain('at_revoked');
    }
    expect(tokens.forms).toHaveLength(2);
  });

  it('in a file that was tampered with or is readable by others are not used', async () => {
    await cli(['agents', 'list'], { env: signedIn() });
    const [file = ''] = await tokenFiles();
    const content = await readFile(file, 'utf8');
    const spoilers: (() => Promise<unknown>)[] = [
      () => writeFile(file, '{'),
      () => writeFile(file, 'null'),
      () => writeFile(file, content.replace(/"value":"[^"]*"/, '"value":"a\\r\\nX-Evil: 1"')),
      () => chmod(file, 0o644),
      async () => {
        await writeFile(`${file}.other`, content, { mode: 0o600 });
        await rm(file);
        await symlink(`${file}.other`, file);
      },
    ];
    for (const [index, spoil] of spoilers.entries()) {
      await spoil();
      expect((await cli(['agents', 'list'], { env: signedIn() })).code).toBe(0);
      expect(tokens.forms).toHaveLength(index + 2);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }
  });

  it('are fetched where nothing can be stored', async () => {
    await writeFile(path.join(path.dirname(env.AOPS_CACHE_DIR as string), 'file'), '');
    const unusableEnv = { AOPS_CACHE_DIR: path.join(path.dirname(env.AOPS_CACHE_DIR as string), 'file') };
    expect(await cli(['agents', 'list', '--jq', '.data[].name'], { env: { ...signedIn(), ...unusableEnv } })).toMatchObject({
      code: 0,
      stdout: 'greeter\n',
      stderr: '',
    });
  });

  it('are not revealed by --debug', async () => {
    const traceResult = await cli(['agents', 'list', '--debug'], { env: signedIn() });
    expect(traceResult.stderr).toMatch(/POST http:\/\/127\.0\.0\.1:\d+\/oauth\/token(\n<| ->) 200/);
  });

  it('are not fetched without a token URL', async () => {
    const { AOPS_TOKEN_URL: _, ...incomplete } = signedIn();
    const refusal = await cli(['agents', 'list'], { env: incomplete });
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).toContain('AOPS_TOKEN_URL');
  });
});

describe('auth status', () => {
  it('shows client, token and scope with secrets masked', async () => {
    await login('--scope', 'runs:read');
    tokens.grant = () => grantAnswer({ scope: 'runs:read teams:read' });
    const status = (await cli(['auth', 'status', '--json'])).json<{
      credential: Record<string, unknown> & { token: Record<string, unknown> };
    }>();
    expect(status.credential).toMatchObject({
      type: 'client_credentials',
      source: 'profile default',
      origin: service.service.url,
      client_id: tokens.clientId,
      token_url: tokens.url,
      scope: 'runs:read',
      token: { scope: 'runs:read teams:read', expires_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(status.credential.masked).toBe(`${tokens.clientId} / cs_…gns%`);
    expect(status.credential.token.seconds_left).toBeGreaterThan(3_500);
    const text = (await cli(['auth', 'status'])).stdout;
    expect(text).toContain('OAuth client credentials');
    expect(text).toMatch(/expires in 59m/);
    expect(text).toContain('runs:read teams:read');
  });

  it('shows that no token is stored', async () => {
    tokens.grant = () => grantAnswer({ expires_in: 10 });
    const { credential } = (await cli(['auth', 'status', '--json'], { env: signedIn() })).json<{ credential: object }>();
    expect(credential).toMatchObject({ source: 'AOPS_CLIENT_ID', origin: null, scope: null, token: null });
  });

  it('shows the type of a key', async () => {
    const { credential } = (await cli(['auth', 'status', '--json'], { env: service.env })).json<{ credential: object }>();
    expect(credential).toMatchObject({ type: 'token', source: 'AOPS_API_KEY', origin: null });
  });
});

describe('auth token', () => {
  it('prints the same access token while it is valid', async () => {
    await login();
    for (const _ of [1, 2]) {
      expect(await cli(['auth', 'token'], { shows: service.service.token })).toMatchObject({
        code: 0,
        stdout: `${service.service.token}\n`,
        stderr: '',
      });
    }
    expect(tokens.forms).toHaveLength(2);
  });
});

describe('auth logout', () => {
  it('deletes the client and its tokens', async () => {
    await login();
    await cli(['agents', 'list']);
    expect(await tokenFiles()).toHaveLength(1);
    expect((await cli(['auth', 'logout', '--json'])).json()).toEqual({ profile: 'default', removed: true, tokens_removed: 1 });
    expect(await tokenFiles()).toEqual([]);
    expect((await cli(['agents', 'list'])).code).toBe(4);
  });

  it('also happens when the profile is deleted, and leaves the tokens of other services', async () => {
    await login();
    await cli(['agents', 'list']);
    await cli(['agents', 'list'], { env: { ...signedIn(), AOPS_BASE_URL: service.service.url.replace('127.0.0.1', 'localhost') } });
    expect(await tokenFiles()).toHaveLength(2);
    expect((await cli(['profiles', 'delete', 'default', '--yes'])).code).toBe(0);
    expect(await tokenFiles()).toHaveLength(1);
  });
});

describe('a stored client', () => {
  it('is bound to its origin and requests no token for another', async () => {
    await login();
    const refusal = await cli(['agents', 'list', '--base-url', 'http://127.0.0.1:1']);
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(tokens.forms).toHaveLength(1);
  });

  it('reports a token endpoint that is unreachable', async () => {
    const unreachableEnv = { ...signedIn(), AOPS_TOKEN_URL: 'http://127.0.0.1:1/oauth/token' };
    const failure = await cli(['agents', 'list', '--json', '--timeout', '20s'], { env: unreachableEnv });
    expect(failure).toMatchObject({ code: 8, stdout: '' });
    expect(JSON.parse(failure.stderr.trim().split('\n').at(-1) as string).error.message).toContain(
      'access token from http://127.0.0.1:1: the connection was refused',
    );
  });
});

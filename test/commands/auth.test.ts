/** Signing in and out, profiles and settings: what is stored, what takes precedence, and that secrets are never shown. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const noTeam = '00000000-0000-4000-8000-000000000005';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
});

/** A machine without any saved credential, new for every test. */
let env: Record<string, string>;
beforeEach(async () => {
  env = folderEnv(await temporaryFolder());
});
const cli = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(argv, { ...options, env: { ...env, ...options.env } });

const login = (...flags: string[]): Promise<CliResult> =>
  cli(['auth', 'login', '--base-url', service.service.url, '--team', service.service.teamId, ...flags], {
    stdin: `${service.service.token}\n`,
  });

describe('without any profile', () => {
  it('says how to sign in or start the local service', async () => {
    const refusal = await cli(['runs', 'list']);
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).toBe(
      'error: You are not signed in.\nhint: Run `aops auth login` or set AOPS_API_KEY. A local service, started with `aops local up`, needs neither.\n',
    );
  });

  it('profiles list suggests commands to create one', async () => {
    const listResult = await cli(['profiles', 'list']);
    expect(listResult).toMatchObject({ code: 0, stdout: '' });
    expect(listResult.stderr).toContain('aops auth login');
    expect(listResult.stderr).toContain('aops local up');
    expect((await cli(['profiles', 'list', '--json'])).json()).toMatchObject({ data: [], total: 0 });
  });

  it.each([['use'], ['delete', '--yes'], ['rename', 'other']])(
    'profiles %s reports that the profile does not exist',
    async (verb, ...extraArguments) => {
      const refusal = await cli(['profiles', verb as string, 'ci', ...extraArguments]);
      expect(refusal).toMatchObject({ code: 3, stdout: '' });
      expect(refusal.stderr).toContain('There is no profile called "ci"');
    },
  );

  it('a profile from the environment or a flag is reported as missing', async () => {
    for (const refusal of [await cli(['runs', 'list', '--profile', 'ci']), await cli(['runs', 'list'], { env: { AOPS_PROFILE: 'ci' } })]) {
      expect(refusal).toMatchObject({ code: 3, stdout: '' });
      expect(refusal.stderr).toContain('There is no profile called "ci"');
    }
  });
});

describe('auth login', () => {
  it('checks the key, stores it readable only by its owner, and selects the profile', async () => {
    const signedIn = await login('--json');
    expect(signedIn).toMatchObject({ code: 0, stderr: '' });
    expect(signedIn.json()).toEqual({ profile: 'default', base_url: service.service.url, team_id: service.service.teamId, team: 'Local' });
    const folder = env.AOPS_CONFIG_DIR as string;
    expect((await stat(path.join(folder, 'credentials.json'))).mode & 0o777).toBe(0o600);
    expect(await readFile(path.join(folder, 'config.json'), 'utf8')).not.toContain(service.service.token);
    expect((await cli(['agents', 'list', '--jq', '.data[].name'])).stdout).toBe('greeter\n');
    expect((await cli(['auth', 'login', '--help'])).stdout).not.toMatch(/--(key|token|api-key)(?![-\w])/);
  });

  it('stores nothing if the key is rejected', async () => {
    const refusal = await cli(['auth', 'login', '--base-url', service.service.url, '--team', service.service.teamId], {
      stdin: 'aops_local_wrong',
    });
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).not.toContain('aops_local_wrong');
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it('stores nothing if the team does not exist', async () => {
    const refusal = await cli(['auth', 'login', '--base-url', service.service.url, '--team', noTeam], { stdin: service.service.token });
    expect([3, 5]).toContain(refusal.code);
    expect(refusal.stdout).toBe('');
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it.each([
    ['no key', ''],
    ['a key with a space', 'two words'],
    ['a key with a line break', 'two\nlines'],
  ])('rejects %s', async (_, key) => {
    const refusal = await cli(['auth', 'login', '--base-url', service.service.url, '--team', noTeam], { stdin: key });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('The input is not a key');
    if (key !== '') expect(refusal.stderr).not.toContain(key);
  });

  it('names the missing flag if there is no terminal', async () => {
    const noAddress = await cli(['auth', 'login'], { stdin: 'key' });
    expect(noAddress).toMatchObject({ code: 2, stdout: '' });
    expect(noAddress.stderr).toContain('--base-url');
  });

  it.each(['nonsense', 'ftp://example.com', 'http://example.com', 'https://user:secret@example.com'])(
    'refuses the address %s',
    async (address) => {
      const refusal = await cli(['auth', 'login', '--base-url', address, '--team', noTeam], { stdin: 'key' });
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).not.toContain('secret');
    },
  );
});

describe('auth status, token, logout', () => {
  it('shows where the credential comes from, but never the credential', async () => {
    await login();
    const status = await cli(['auth', 'status', '--json']);
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(status.json()).toMatchObject({
      profile: 'default',
      base_url: service.service.url,
      team: 'Local',
      credential: { type: 'token', source: 'profile default' },
    });
    expect(status.stdout).not.toContain(service.service.token);
    const fromEnvironment = await service.cli(['auth', 'status', '--json']);
    expect(fromEnvironment.json()).toMatchObject({ credential: { source: 'AOPS_API_KEY' } });
    expect((await cli(['auth', 'status'], { env: { AOPS_API_KEY: 'wrong' } })).code).toBe(4);
    const refusal = await cli(['runs', 'list'], { env: { AOPS_API_KEY: 'wrong' } });
    expect(refusal.code).toBe(4);
    expect(refusal.stderr).toContain(
      'Correct AOPS_API_KEY, or unset it and sign in with `aops auth login`; AOPS_API_KEY takes precedence over a stored credential.\n',
    );
  });

  it('prints the key only without an output format', async () => {
    await login();
    expect(await cli(['auth', 'token'])).toMatchObject({ code: 0, stdout: `${service.service.token}\n`, stderr: '' });
    const refusal = await cli(['auth', 'token', '--json']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).not.toContain(service.service.token);
    expect((await cli(['auth', 'token'], { env: { AOPS_CONFIG_DIR: `${env.AOPS_CONFIG_DIR}-other` } })).code).toBe(4);
  });

  it('deletes the credential on sign-out', async () => {
    await login();
    expect(await cli(['auth', 'logout'])).toMatchObject({ code: 0, stdout: 'Signed out of profile "default".\n', stderr: '' });
    expect((await cli(['auth', 'logout'])).stdout).toContain('had no credential');
    expect((await cli(['agents', 'list'])).code).toBe(4);
    expect(await readFile(path.join(env.AOPS_CONFIG_DIR as string, 'credentials.json'), 'utf8')).not.toContain(service.service.token);
  });

  it('never sends the credential to another address', async () => {
    await login();
    const refusal = await cli(['agents', 'list', '--base-url', 'http://127.0.0.1:1']);
    expect(refusal).toMatchObject({ code: 4, stdout: '' });
    expect(refusal.stderr).toContain('is not sent to http://127.0.0.1:1');
  });
});

describe('profiles', () => {
  it('are used, renamed and deleted', async () => {
    await login('--profile', 'one');
    await login('--profile', 'two');
    const profileList = (await cli(['profiles', 'list', '--json'])).json<{ data: unknown[] }>();
    expect(profileList.data).toMatchObject([
      { name: 'one', signed_in: true, current: false },
      { name: 'two', signed_in: true, current: true },
    ]);
    expect(await cli(['profiles', 'use', 'one'])).toMatchObject({
      code: 0,
      stdout: `Using profile "one" (${service.service.url}).\n`,
      stderr: '',
    });
    expect((await cli(['profiles', 'rename', 'one', 'first'])).code).toBe(0);
    expect((await cli(['auth', 'status', '--json'])).json()).toMatchObject({ profile: 'first' });
    const takeResult = await cli(['profiles', 'rename', 'first', 'two']);
    expect([2, 6]).toContain(takeResult.code);
    expect(takeResult.stderr).toContain('two');
    const refusal = await cli(['profiles', 'delete', 'first']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('--yes');
    expect(await cli(['profiles', 'delete', 'first', '--yes'])).toMatchObject({
      code: 0,
      stdout: 'Deleted profile "first".\n',
      stderr: '',
    });
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('two\n');
  });

  it('reject names with special characters', async () => {
    await login('--profile', 'one');
    for (const name of ['a b', '../up', '', '-x'.repeat(40)]) {
      const refusal = await cli(['profiles', 'rename', '--', 'one', name]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
    }
    expect((await cli(['profiles', 'list', '-o', 'id'])).stdout).toBe('one\n');
  });
});

describe('config', () => {
  it('sets, gets and removes settings', async () => {
    const unsetResult = await cli(['config', 'get', 'team_id']);
    expect(unsetResult).toMatchObject({ code: 3, stdout: '' });
    expect(unsetResult.stderr).toContain('aops config set team_id');
    expect(await cli(['config', 'set', 'team_id', noTeam])).toMatchObject({ code: 0, stdout: `team_id = ${noTeam}\n`, stderr: '' });
    expect(await cli(['config', 'get', 'team_id'])).toMatchObject({ code: 0, stdout: `${noTeam}\n`, stderr: '' });
    expect((await cli(['config', 'list', '--json'])).json<{ data: unknown[] }>().data).toContainEqual(
      expect.objectContaining({ key: 'team_id', value: noTeam }),
    );
    expect((await cli(['config', 'set', 'team_id', '--unset'])).code).toBe(0);
    expect((await cli(['config', 'get', 'team_id'])).code).toBe(3);
  });

  it.each([
    [['config', 'get', 'colour'], 'colour'],
    [['config', 'set', 'colour', 'red'], 'colour'],
    [['config', 'set', 'output', 'xml'], 'must be one of: table, json'],
    [['config', 'set', 'timeout', 'soon'], 'must be a duration'],
    [['config', 'set', 'base_url', 'nonsense'], 'base_url'],
    [['config', 'set', 'output'], 'Specify either a value or --unset.'],
    [['config', 'set', 'output', 'json', '--unset'], 'Specify either a value or --unset.'],
    [['config', 'explain', 'colour'], 'There is no setting "colour".'],
    [['config', 'explain', 'colour'], 'hint: Did you mean color?'],
    [['config', 'get', 'colour'], 'hint: Did you mean color?'],
    [['config', 'get', 'nothing_like_it'], 'hint: Known settings: profile, base_url'],
    [['config', 'set', 'output', 'xml'], 'error: The setting output must be one of'],
  ])('rejects %j', async (argv, message) => {
    const refusal = await cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });

  it('explains which value takes precedence and which ones it shadows', async () => {
    await login('--profile', 'one');
    await cli(['config', 'set', 'team_id', noTeam]);
    const explain = async (argv: string[], extraEnv: Record<string, string> = {}) =>
      (await cli(['config', 'explain', 'team_id', '--json', ...argv], { env: extraEnv })).json<{
        data: { value: string; source: string; shadowed: unknown[] }[];
      }>().data[0];
    expect(await explain([])).toMatchObject({
      value: service.service.teamId,
      source: 'profile one',
      shadowed: [{ value: noTeam, source: 'setting team_id' }],
    });
    expect(await explain([], { AOPS_TEAM_ID: 'from-env' })).toMatchObject({ value: 'from-env', source: 'AOPS_TEAM_ID' });
    expect(await explain(['--team', 'from-flag'], { AOPS_TEAM_ID: 'from-env' })).toMatchObject({
      value: 'from-flag',
      source: '--team',
      shadowed: [{ source: 'AOPS_TEAM_ID' }, { source: 'profile one' }, {}],
    });
    const allResult = await cli(['config', 'explain']);
    expect(allResult.code).toBe(0);
    expect(allResult.stdout).toContain('credential\t');
    expect(allResult.stdout).not.toContain(service.service.token);
  });

  it('reports a broken file so that it can be repaired', async () => {
    await login();
    const { writeFile } = await import('node:fs/promises');
    await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'config.json'), '{ broken');
    const refusal = await cli(['agents', 'list']);
    expect(refusal.stdout).toBe('');
    expect(refusal.code).toBeGreaterThan(0);
    expect(refusal.stderr).toContain('config.json');
  });
});

/** `.aops.toml`: it is ignored until the user trusts exactly its content, and then selects a profile, a team and an agent. */
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
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

const teams = { acme: '00000000-0000-4000-8000-00000000000a', file: '00000000-0000-4000-8000-00000000000f' };

/** A machine with two profiles, and a repository with a folder inside. */
let env: Record<string, string>;
let repository: string;
let inside: string;
beforeEach(async () => {
  const folder = await temporaryFolder();
  env = folderEnv(folder);
  repository = path.join(folder, 'home', 'repository');
  inside = path.join(repository, 'src', 'deep');
  await mkdir(inside, { recursive: true });
  await mkdir(path.join(repository, '.git'));
  await mkdir(env.AOPS_CONFIG_DIR as string);
  const profiles = {
    local: { base_url: service.service.url, team_id: service.service.teamId },
    acme: { base_url: 'https://acme.example', team_id: teams.acme },
  };
  await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'config.json'), JSON.stringify({ current_profile: 'local', profiles }), {
    mode: 0o600,
  });
});

const cli = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(argv, { cwd: inside, ...options, env: { ...env, ...options.env } });
const write = (text: string, folder = repository): Promise<void> => writeFile(path.join(folder, '.aops.toml'), text);

/** The value of a setting and where it comes from. */
async function explained(key: string, ...flags: string[]): Promise<{ value: string; source: string }> {
  const { code, stdout, stderr } = await cli(['config', 'explain', key, '--template', '{{ value }}|{{ source }}', ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [value = '', source = ''] = stdout.trimEnd().split('|');
  return { value, source };
}

describe('a .aops.toml that is not trusted', () => {
  it('changes nothing, and people learn how to use it', async () => {
    await write('profile = "acme"\n');
    expect(await explained('profile')).toEqual({ value: 'local', source: 'current profile' });
    const shown = await cli(['config', 'explain', 'profile', '--jq', '.data[0].value'], { tty: true });
    expect(shown.stdout).toBe('local\n');
    expect(shown.stderr.match(/is ignored, because you have not trusted it.*aops config trust/g)).toHaveLength(1);
    expect((await cli(['config', 'explain', '--quiet'], { tty: true })).stderr).toBe('');
  });

  it('is not even parsed', async () => {
    await write('= this is not TOML');
    expect(await explained('profile')).toMatchObject({ value: 'local' });
  });

  it('is never a pipe that somebody keeps open, or a folder', async () => {
    await mkdir(path.join(repository, '.aops.toml'));
    expect(await explained('profile')).toMatchObject({ value: 'local' });
    expect(await cli(['config', 'trust'])).toMatchObject({ code: 3, stderr: expect.stringContaining('There is no .aops.toml in') });
  });
});

describe('a trusted .aops.toml', () => {
  it('applies below its folder, between the environment and the profile', async () => {
    await write(`profile = "acme"\nteam = "${teams.file}"\nagent = "greeter"\n`);
    const trusted = await cli(['config', 'trust', '--json'], { cwd: repository });
    const file = path.join(repository, '.aops.toml');
    expect(trusted.json()).toEqual({ file, profile: 'acme', team: teams.file, agent: 'greeter' });
    expect(await explained('profile')).toEqual({ value: 'acme', source: file });
    expect(await explained('team_id')).toEqual({ value: teams.file, source: file });
    expect(await explained('base_url')).toEqual({ value: 'https://acme.example', source: 'profile acme' });
    expect(await explained('agent')).toEqual({ value: 'greeter', source: file });
    expect(await explained('team_id', '--team', 'x')).toEqual({ value: 'x', source: '--team' });
    env.AOPS_TEAM_ID = 'y';
    expect(await explained('team_id')).toEqual({ value: 'y', source: 'AOPS_TEAM_ID' });
  });

  it('is shown when it is trusted', async () => {
    await write('agent = "greeter"\n');
    const file = path.join(repository, '.aops.toml');
    expect(await cli(['config', 'trust'], { tty: true })).toMatchObject({
      code: 0,
      stdout: `Trusted ${file}. It sets:\n  agent = "greeter"\n`,
      stderr: '',
    });
    await write('');
    expect((await cli(['config', 'trust'])).stdout).toBe(`Trusted ${file}. It sets nothing yet.\n`);
  });

  it('leaves out its team and agent if another profile is selected', async () => {
    await write(`profile = "acme"\nteam = "${teams.file}"\nagent = "greeter"\n`);
    await cli(['config', 'trust']);
    expect(await explained('team_id', '--profile', 'local')).toEqual({ value: service.service.teamId, source: 'profile local' });
    expect(await explained('agent', '--profile', 'local')).toEqual({ value: '', source: 'not set' });
  });

  it('is trusted wherever the links lead through which it was named', async () => {
    const folder = path.dirname(repository);
    const other = path.join(folder, 'other', 'repository');
    await mkdir(path.join(folder, 'other', 'deep'), { recursive: true });
    await mkdir(path.join(other, '.git'), { recursive: true });
    await write('profile = "acme"\n', other);
    // The second link passes through the first, so its `..` is not the folder that contains it.
    await symlink('other/deep', path.join(folder, 'first'));
    await symlink('first/../repository', path.join(folder, 'second'));
    await cli(['config', 'trust', path.join(folder, 'second')]);
    const explain = ['config', 'explain', 'profile', '--jq', '.data[0].value'];
    expect((await cli(explain, { cwd: other })).stdout).toBe('acme\n');
  });

  it('is ignored again after it changed, moved, or was untrusted', async () => {
    await write('profile = "acme"\n');
    await cli(['config', 'trust']);
    await write('profile = "acme" # changed\n');
    expect(await explained('profile')).toMatchObject({ value: 'local' });
    expect((await cli(['config', 'explain'], { tty: true })).stderr).toContain('it has changed since you trusted it');
    await write('profile = "acme"\n');
    expect(await explained('profile')).toMatchObject({ value: 'acme' });

    await rename(path.join(repository, '.aops.toml'), path.join(inside, '.aops.toml'));
    expect(await explained('profile')).toMatchObject({ value: 'local' });
    await rename(path.join(inside, '.aops.toml'), path.join(repository, '.aops.toml'));

    expect((await cli(['config', 'untrust'])).stdout).toBe(`${path.join(repository, '.aops.toml')} is now ignored.\n`);
    expect(await explained('profile')).toMatchObject({ value: 'local' });
    expect((await cli(['config', 'untrust'])).stdout).toContain('was not trusted');
  });

  it('ends with the repository: a file above it does not apply', async () => {
    const above = path.dirname(repository);
    await write('profile = "acme"\n', above);
    await cli(['config', 'trust', above]);
    expect(await explained('profile')).toMatchObject({ value: 'local' });
    const outside = await cli(['config', 'explain', 'profile', '--jq', '.data[0].value'], { cwd: above });
    expect(outside.stdout).toBe('acme\n');
  });

  it('provides the agent of a new run', async () => {
    await write('agent = "greeter"\n');
    const signedIn = { env: { AOPS_API_KEY: service.service.token } };
    expect(await cli(['runs', 'start'], signedIn)).toMatchObject({
      code: 2,
      stderr:
        "error: Required option '--agent <ID|NAME>' not specified.\nhint: Pass it, or set a default with `aops config set agent ID|NAME`.\n",
    });
    await cli(['config', 'trust']);
    const started = await cli(['runs', 'start', '--watch'], signedIn);
    expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining('hi') });
    expect(started.stderr).toContain(`Using the agent "greeter" from ${path.join(repository, '.aops.toml')}.`);
  });

  it('selects the service and the team whose names are completed, which are not offered elsewhere', async () => {
    await write('profile = "local"\n');
    await cli(['config', 'trust']);
    await cli(['profiles', 'use', 'acme'], { cwd: env.HOME as string });
    const signedIn = { env: { AOPS_API_KEY: service.service.token } };
    expect(await cli(['__refresh', 'agents'], signedIn)).toMatchObject({ code: 0, stderr: '' });
    const completion = ['__complete', '--', 'agents', 'get', ''];
    expect((await cli(completion, signedIn)).stdout).toMatch(/^greeter\t.*\n$/);
    expect((await cli(completion, { ...signedIn, cwd: env.HOME as string })).stdout).toBe('');
  });

  it('reports a profile that does not exist', async () => {
    await write('profile = "nowhere"\n');
    await cli(['config', 'trust']);
    const refusal = await cli(['runs', 'list']);
    expect(refusal).toMatchObject({ code: 3, stderr: expect.stringContaining(`"nowhere" (from ${path.join(repository, '.aops.toml')})`) });
  });
});

describe('a .aops.toml with mistakes cannot be trusted', () => {
  it.each([
    ['proflie = "acme"', 'unknown key "proflie"', 'Did you mean profile?'],
    ['base_url = "https://evil.example"', 'must not contain "base_url"', 'aops auth login --profile'],
    ['api_key = "x"', 'must not contain "api_key"', 'aops auth login --profile'],
    ['[profile]\nname = "acme"', 'must be a text', 'team ='],
    ['team = 17', 'must be a text', 'team ='],
    ['team = ""', 'must not be empty', ''],
    ['profile = "a/b"', 'profile name', ''],
    ['profile = acme', 'is not valid TOML (line 1): invalid value', 'team ='],
  ])('%s', async (text, message, hint) => {
    await write(text);
    const refusal = await cli(['config', 'trust']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(refusal.stderr).toContain(hint);
    expect(await explained('profile')).toMatchObject({ value: 'local' });
  });

  it('a file that does not exist', async () => {
    expect(await cli(['config', 'trust', '.'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`There is no .aops.toml in ${inside}.`),
    });
  });

  it('a file with another name', async () => {
    expect(await cli(['config', 'trust', 'aops.toml'])).toMatchObject({ code: 2, stderr: expect.stringContaining('would never be used') });
  });
});

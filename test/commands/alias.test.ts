/** Aliases: what they stand for, and that they never replace a command. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let env: Record<string, string>;
const cli = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(argv, { ...options, env: { ...env, PATH: process.env.PATH ?? '', ...options.env } });
const set = (...argv: string[]): Promise<CliResult> => cli(['alias', 'set', ...argv]);

beforeEach(async () => {
  env = folderEnv(await temporaryFolder());
});

describe('an alias', () => {
  it('stands for a command, and passes its arguments on', async () => {
    expect(await set('settings', 'config list')).toMatchObject({ code: 0, stdout: 'Added the alias "settings": aops config list\n' });
    expect((await cli(['settings', '--fields', 'key', '--json'])).json()).toMatchObject({
      data: expect.arrayContaining([{ key: 'team_id' }]),
    });
    expect((await cli(['settings', '-o', 'id'])).stdout).toContain('base_url\n');
    expect((await cli(['--fields', 'key', 'settings', '-o', 'csv'])).stdout).toMatch(/^key\r\nprofile\r\n/);
  });

  it('replaces placeholders, and appends the other arguments', async () => {
    await set('value', "config $1 $2 --template '{{ value }}'");
    await cli(['config', 'set', 'max_wait', '5m']);
    expect((await cli(['value', 'get', 'max_wait'])).stdout).toBe('5m\n');
    expect((await cli(['value', 'explain', 'max_wait', '--max-wait', '7s'])).stdout).toBe('7000\n');
    const refusal = await cli(['value', 'get']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toBe(
      'error: The alias "value" needs 2 arguments.\nhint: It stands for: aops config $1 $2 --template \'{{ value }}\'\n',
    );
  });

  it('keeps an argument with spaces, quotes or placeholders in one word', async () => {
    await set('store', 'config set pager $1');
    for (const text of ['less -R', `a "b' $2 ; rm`, '$1']) {
      expect((await cli(['store', text])).stdout).toBe(`pager = ${text}\n`);
      expect((await cli(['config', 'get', 'pager'])).stdout).toBe(`${text}\n`);
    }
  });

  it('can lead to another alias, but not back to itself', async () => {
    await set('a', 'config list');
    await set('b', 'a --fields key');
    expect((await cli(['b', '-o', 'csv'])).stdout).toMatch(/^key\r\n/);
    await set('a', 'b', '--clobber');
    expect(await cli(['a'])).toMatchObject({ code: 2, stderr: expect.stringContaining('refers to itself') });
  });

  it('is changed only with --clobber, and can be deleted', async () => {
    await set('a', 'config list');
    expect(await set('a', 'profiles list')).toMatchObject({ code: 2, stderr: expect.stringContaining('--clobber') });
    expect((await set('a', 'config list')).code).toBe(0);
    expect((await set('a', 'profiles list', '--clobber')).stdout).toBe('Changed the alias "a": aops profiles list\n');
    expect((await cli(['alias', 'list', '--json'])).json()).toMatchObject({
      data: [{ id: 'a', name: 'a', expansion: 'profiles list', shell: false }],
    });
    expect(await cli(['alias', 'delete', 'b'])).toMatchObject({ code: 3, stderr: expect.stringContaining('Did you mean a?') });
    expect((await cli(['alias', 'delete', 'a'])).stdout).toContain('profiles list');
    expect(await cli(['a'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown command "a"') });
  });

  it.each([
    ['the name of a command', ['runs', 'config list'], 'is a command of aops'],
    ['the other name of a command', ['help', 'config list'], 'is a command of aops'],
    ['an invalid name', ['a b', 'config list'], 'is not a valid name for an alias'],
    ['an unknown command', ['a', 'confg list'], '"confg" is not a command'],
    ['the word aops', ['a', 'aops config list'], 'starts without aops'],
    ['itself', ['a', 'a list'], '"a" is not a command'],
    ['a pipe without a shell', ['a', 'config list | head'], 'start it with !'],
    ['a variable without a shell', ['a', 'config get $KEY'], 'start it with !'],
    ['an unclosed quotation mark', ['a', "config get 'x"], 'lacks a closing'],
    ['nothing', ['a', '  '], 'The expansion is empty'],
    ['an empty shell command', ['a', '! '], 'The expansion is empty'],
    ['several lines', ['a', '!echo 1\necho 2'], 'line breaks'],
  ])('cannot be %s', async (_, argv, message) => {
    const refusal = await set(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect((await cli(['alias', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it('never replaces a command that a later version adds', async () => {
    await set('extra', 'config list');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(
      `${env.AOPS_CONFIG_DIR}/config.json`,
      JSON.stringify({ aliases: { profiles: 'config list', extra: 'config list', odd: 5 } }),
      { mode: 0o600 },
    );
    expect((await cli(['profiles', 'list', '--json'])).json()).toMatchObject({ data: [], total: 0 });
    expect((await cli(['--help'])).stdout).not.toContain('profiles  aops config list');
    expect(await cli(['odd'])).toMatchObject({ code: 2 });
  });
});

describe('a shell alias', () => {
  it('is run by sh with the arguments, and passes on standard input and the exit code', async () => {
    expect((await set('upper', '!tr a-z A-Z; echo "$1-$#"; exit 7')).stdout).toBe(
      'Added the shell alias "upper": tr a-z A-Z; echo "$1-$#"; exit 7\n',
    );
    expect(await cli(['upper', 'x y', '--json'], { stdin: 'hello ' })).toMatchObject({ code: 7, stdout: 'HELLO x y-2\n' });
    expect((await set('hi', 'echo hi', '--shell')).stdout).toContain('shell alias');
    expect((await cli(['hi'])).stdout).toBe('hi\n');
  });

  it('sees the profile of the flags', async () => {
    await set('who', '!echo "$AOPS_PROFILE"');
    expect((await cli(['--profile', 'ci', 'who'])).stdout).toBe('ci\n');
    expect(await cli(['--json', 'who'])).toMatchObject({ code: 2, stderr: expect.stringContaining('aops who --json') });
  });
});

describe('help, suggestions and completion', () => {
  it('know aliases', async () => {
    await set('waiting', 'runs list --status waiting');
    expect((await cli(['--help'])).stdout).toMatch(/^Your aliases:\n {2}waiting {2}aops runs list --status waiting$/m);
    expect((await cli(['help', 'waiting'])).stdout).toBe('aops waiting is an alias for: aops runs list --status waiting\n');
    expect((await cli(['waiting', '--help'])).stdout).toContain('Usage: aops runs list');
    expect((await cli(['waitng'])).stderr).toContain('Did you mean `aops waiting`?');
    expect((await cli(['__complete', '--', 'wait'])).stdout).toBe('waiting\talias for aops runs list --status waiting\n');
    expect((await cli(['__complete', '--', 'waiting', '--issue-sev'])).stdout).toContain('--issue-severity\t');
    expect((await cli(['__complete', '--', 'alias', 'delete', ''])).stdout).toBe('waiting\truns list --status waiting\n');
  });
});

it('does not use the aliases of a folder to which a relative HOME leads', async () => {
  const folder = await temporaryFolder();
  await mkdir(path.join(folder, '.config/aops'), { recursive: true });
  await writeFile(path.join(folder, '.config/aops/config.json'), JSON.stringify({ aliases: { 'greet-me': '!echo executed' } }));
  expect((await runCli(['greet-me'], { env: { HOME: folder, PATH: process.env.PATH ?? '' } })).code).toBe(0);
  const { code, stdout, stderr } = await runCli(['greet-me'], { env: { HOME: path.relative(process.cwd(), folder) } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('Unknown command "greet-me"');
});

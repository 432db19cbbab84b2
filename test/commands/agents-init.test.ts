/** `aops agents init` without a terminal. The templates themselves are tested in test/e2e/agents-init.test.ts. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
});

const init = (...argv: string[]) => runCli(['agents', 'init', ...argv], { cwd: folder });
const read = (file: string): Promise<string> => readFile(path.join(folder, file), 'utf8');

describe('agents init', () => {
  it('needs neither a service nor a profile, and names the agent after its folder', async () => {
    const result = await init("it's mine", '--kind', 'script');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toContain(`Next:\n  cd 'it'\\''s mine'\n  aops agents test\n`);
    expect(parse(await read("it's mine/agent.test.yaml"))).toMatchObject({ agent: { name: "it's mine" } });
    const json = (await init('other', '--kind', 'script', '--name', 'payer', '--json')).json<{ name: string; written: string[] }>();
    expect(json).toMatchObject({ name: 'payer', written: ['procedure.yaml', 'agent.test.yaml', 'README.md'], unchanged: [] });
  });

  it('writes the definition of an agent of the registry, and of any command', async () => {
    expect((await init('a', '--acp', 'claude-acp')).code).toBe(0);
    expect(parse(await read('a/agent.yaml'))).toEqual({ version: 1, acp: 'claude', secrets: ['ANTHROPIC_API_KEY'] });
    expect((await init('b', '--kind', 'repository', '--acp-command', `node 'a b.js' --acp`)).code).toBe(0);
    expect(parse(await read('b/agent.yaml'))).toEqual({ version: 1, command: ['node', 'a b.js', '--acp'] });
    expect(await read('b/README.md')).not.toContain('--secret');
  });

  it('says so if a file is in the place of its folder', async () => {
    await writeFile(path.join(folder, 'a'), '');
    for (const name of ['a', 'a/b']) {
      const refusal = await init(name, '--kind', 'script', '--json');
      expect(refusal).toMatchObject({ code: 1, stdout: '' });
      const message = expect.stringContaining(`${name}/procedure.yaml cannot be written, because a part of its path is not a folder.`);
      expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { code: 'not_writable', message } });
    }
  });

  it('overwrites nothing without a confirmation, and names the files', async () => {
    await mkdir(path.join(folder, 'a'));
    await writeFile(path.join(folder, 'a/README.md'), 'Mine\n');
    const refusal = await init('a', '--kind', 'script');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`Overwrite README.md in ${path.join(folder, 'a')}?`);
    expect(existsSync(path.join(folder, 'a/procedure.yaml'))).toBe(false);
    expect((await init('a', '--kind', 'script', '--yes')).code).toBe(0);
    expect(await read('a/README.md')).toMatch(/^# a\n/);
    const repeated = (await init('a', '--kind', 'script', '--json')).json();
    expect(repeated).toMatchObject({ written: [], unchanged: ['procedure.yaml', 'agent.test.yaml', 'README.md'] });
  });

  it.each([
    [[], '--kind is missing.'],
    [['--kind', 'acp'], 'The template needs a program.'],
    [['--kind', 'scrip'], 'Did you mean script?'],
    [['--kind', 'script', '--acp', 'claude'], 'need --kind acp or repository'],
    [['--acp', 'claud'], 'Did you mean claude?'],
    [['--acp', 'claude', '--acp-command', 'x'], 'cannot be combined'],
    [['--acp-command', 'a | b'], 'which only a shell understands'],
    [['file.txt', '--kind', 'script'], 'file.txt'],
  ])('rejects %j', async (argv, message) => {
    await writeFile(path.join(folder, 'file.txt'), '');
    const result = await init(...argv);
    expect(result.stdout).toBe('');
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain(message);
  });
});

/** What `aops agents init` writes works without changes: the commands of each README are executed in their order. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { beforeEach, describe, expect, it } from 'vitest';
import { shellQuoted } from '../../src/base/shell.ts';
import { needsContainment } from '../support/contained.ts';
import { Machine } from '../support/machine.ts';
import { itNeeding, type Missing } from '../support/requirements.ts';
import { keys } from '../support/screen.ts';

const program = [process.execPath, path.join(import.meta.dirname, '../fixtures/template-agent.js')].map(shellQuoted).join(' ');

let machine: Machine;
beforeEach(async () => {
  machine = await Machine.create();
  for (const role of ['AUTHOR', 'COMMITTER'])
    Object.assign(machine.env, { [`GIT_${role}_NAME`]: 'Test', [`GIT_${role}_EMAIL`]: 'test@localhost' });
});

/** The commands in a README, by line. */
const commandsIn = (readme: string): string[] =>
  [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) => block.trimEnd().split('\n'));

/** Executes a command in a folder, and approves the requests of a run that it watches. */
async function execute(folder: string, command: string): Promise<{ code: number | null; output: string }> {
  const script = `cd ${shellQuoted(folder)} && ${command}`;
  if (!command.endsWith('--watch')) {
    const { code, stdout, stderr } = await machine.run('/bin/sh', ['-c', script]);
    return { code, output: stdout + stderr };
  }
  const screen = machine.screen('/bin/sh', ['-c', script]);
  await screen.asks('Approve');
  screen.type(keys.down, keys.enter);
  return { code: await screen.exit, output: screen.text };
}

const templates: [string, Missing, string[], Record<string, RegExp>][] = [
  ['script', undefined, [], { 'aops agents test': /2 passed/, 'aops runs start': /Paid\. The report is in report\.md/ }],
  ['acp', needsContainment, ['--acp-command', program], { 'aops agents test': /2 passed/, 'aops sandbox cat': /^hello$/m }],
  [
    'repository',
    needsContainment,
    ['--acp-command', program],
    { 'aops agents test': /2 passed/, 'aops sandbox diff': /^\+.*total \+ number/m, 'aops sandbox apply': /sum\.js/ },
  ],
];

describe('agents init --kind', () => {
  for (const [template, missing, flags, outputs] of templates)
    itNeeding(missing, `${template} writes an agent whose README works`, async () => {
      const folder = path.join(machine.folder, 'an agent');
      const { next, written } = await machine.json<{ next: string[]; written: string[] }>(
        'agents',
        'init',
        folder,
        '--kind',
        template,
        ...flags,
      );
      expect(written).toContain('README.md');
      const commands = commandsIn(await machine.read('an agent/README.md'));
      expect(commands).toEqual(expect.arrayContaining(next.filter((command) => !command.startsWith('cd '))));
      expect(Object.keys(outputs).filter((start) => !commands.some((command) => command.startsWith(start)))).toEqual([]);
      for (const command of commands) {
        const { code, output } = await execute(folder, command);
        expect({ command, code, output }).toMatchObject({ code: 0 });
        const [, pattern] = Object.entries(outputs).find(([start]) => command.startsWith(start)) ?? [];
        if (pattern !== undefined) expect(output).toMatch(pattern);
      }
    });

  it('asks on a terminal for what is missing, and which files it may overwrite', async () => {
    await machine.file('README.md', 'Mine\n');
    const screen = machine.terminal('agents', 'init');
    await screen.asks('What is the agent?');
    screen.type(keys.enter);
    await screen.shows('Overwrite README.md in');
    await screen.shows('(y/N)');
    screen.type(keys.enter);
    expect(await screen.exit).toBe(2);
    expect(await machine.read('README.md')).toBe('Mine\n');
    expect(existsSync(path.join(machine.folder, 'procedure.yaml'))).toBe(false);
    const second = machine.terminal('agents', 'init', 'sub', '--kind', 'acp');
    await second.asks('Which program?');
    second.type('gemini', keys.enter);
    await second.shows('aops agents test --secret GEMINI_API_KEY');
    expect(await second.exit).toBe(0);
    expect((await readdir(path.join(machine.folder, 'sub'))).sort()).toEqual(['AGENTS.md', 'README.md', 'agent.test.yaml', 'agent.yaml']);
  });
});

/** Groups within groups, with a separate tree: parsing, help, suggestions, completion, description and manual. */
import { describe, expect, it } from 'vitest';
import { manualPages } from '../../scripts/generate/manual.ts';
import { defineCommand, defineGroup } from '../../src/cli/kit/command.ts';
import { argument, choice } from '../../src/cli/kit/flags.ts';
import { textOutput } from '../../src/cli/kit/output.ts';
import type { Entries } from '../../src/cli/kit/tree.ts';
import { describeCommand, loadAllCommands } from '../../src/cli/program/describe.ts';
import { candidates, lineOf } from '../../src/commands/completion/candidates.ts';
import { commandWords } from '../../src/commands/completion/command-words.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const env = folderEnv(await temporaryFolder());
const loadedNames: string[] = [];

const command = (name: string) =>
  defineCommand({
    summary: `Do ${name}`,
    arguments: { id: argument('The one') },
    options: { colour: choice(['red', 'blue'], 'Its colour') },
    examples: [{ command: `aops ${name} ID`, text: 'One' }],
    output: textOutput<string>((text) => text),
    async run(_context, input) {
      return `${name} ${input.id} ${input.colour ?? ''}`.trim();
    },
  });
const loader = (name: string) => async () => {
  loadedNames.push(name);
  return { default: command(name) };
};

const tree: Entries = {
  hooks: defineGroup({
    summary: 'All about hooks',
    commands: {
      get: loader('hooks get'),
      secret: defineGroup({
        summary: 'Their secrets',
        commands: {
          show: loader('hooks secret show'),
          rotate: loader('hooks secret rotate'),
          deep: defineGroup({ summary: 'Deeper', commands: { dive: loader('hooks secret deep dive') } }),
        },
      }),
    },
  }),
};

const run = (...argv: string[]): Promise<CliResult> => runCli(argv, { env, tree });

describe('a command in a group within a group', () => {
  it('runs with global flags anywhere, and loads no other command', async () => {
    loadedNames.length = 0;
    expect(await run('hooks', 'secret', 'show', 'X', '--colour', 'red')).toMatchObject({ code: 0, stdout: 'hooks secret show X red\n' });
    expect(loadedNames).toEqual(['hooks secret show']);
    expect(await run('--quiet', 'hooks', '--no-input', 'secret', 'deep', 'dive', 'X', '--json')).toMatchObject({
      code: 0,
      stdout: '"hooks secret deep dive X"\n',
    });
    expect(await run('hooks', 'get', 'X')).toMatchObject({ code: 0, stdout: 'hooks get X\n' });
  });

  it('has help on each level', async () => {
    const top = await run('hooks');
    expect(top).toMatchObject({ code: 0, stderr: '' });
    expect(top.stdout).toMatch(/Usage: aops hooks [\s\S]*get [\s\S]*Do hooks get[\s\S]*secret +Their secrets/);
    expect(top.stdout).not.toContain('show');
    for (const argv of [
      ['hooks', 'secret'],
      ['hooks', 'secret', '--help'],
      ['help', 'hooks', 'secret'],
    ]) {
      const help = await run(...argv);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toMatch(
        /Usage: aops hooks secret [\s\S]*Their secrets[\s\S]*show [\s\S]*Do hooks secret show[\s\S]*deep +Deeper/,
      );
    }
    const leaf = await run('hooks', 'secret', 'rotate', '--help');
    expect(leaf.stdout).toMatch(/Usage: aops hooks secret rotate [\s\S]*Examples:\n {2}aops hooks secret rotate ID/);
  });

  it.each([
    [['hoks'], 'hooks', 'aops --help'],
    [['hooks', 'secert'], 'secret', 'aops hooks --help'],
    [['hooks', 'secret', 'shwo', 'X'], 'show', 'aops hooks secret --help'],
    [['hooks', 'secret', 'deep', 'dvie'], 'dive', 'aops hooks secret deep --help'],
    [['hooks', 'secret', 'show', 'X', '--clour', 'red'], '--colour', 'aops hooks secret show --help'],
  ])('%j is reported with a suggestion', async (argv, meant, help) => {
    const refusal = await run(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(meant);
    expect(refusal.stderr).toContain(`\`${help}\``);
  });

  it('is completed word by word', async () => {
    const commands = await commandWords(() => tree);
    const offers = (...words: string[]): string[] => candidates(commands, lineOf(words)).words.map(([word]) => word);
    expect(offers('')).toEqual(['hooks']);
    expect(offers('hooks', '')).toEqual(['get', 'secret']);
    expect(offers('--profile', 'p', 'hooks', 'secret', '')).toEqual(['show', 'rotate', 'deep']);
    expect(offers('hooks', 'secret', 'deep', '')).toEqual(['dive']);
    expect(offers('hooks', 'secret', 'show', '--colour', '')).toEqual(['red', 'blue']);
    expect(offers('hooks', 'secret', 'show', 'X', '--co')).toContain('--colour');
    expect(offers('hooks', 'nothing', '')).toEqual([]);
  });

  it('is described with its full path and included in the manual', async () => {
    const describedIds = (await loadAllCommands(tree)).map((command) => describeCommand(command).id);
    expect(describedIds).toEqual(['hooks get', 'hooks secret show', 'hooks secret rotate', 'hooks secret deep dive']);
    const pages = await manualPages(tree);
    const headings = pages.get('hooks.md')?.match(/^#+ aops.*$/gm);
    expect(headings).toEqual([
      '# aops hooks',
      '## aops hooks get',
      '## aops hooks secret',
      '### aops hooks secret show',
      '### aops hooks secret rotate',
      '### aops hooks secret deep',
      '#### aops hooks secret deep dive',
    ]);
    expect(pages.get('README.md')).toContain('[`aops hooks secret show`](hooks.md#aops-hooks-secret-show)');
  });
});

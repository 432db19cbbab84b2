/** Aliases: other words for a command or a flag that do the same. */
import { beforeAll, describe, expect, it } from 'vitest';
import { flagName } from '../../src/cli/kit/flags.ts';
import { groupsOf, isAlias, namedEntries } from '../../src/cli/kit/tree.ts';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { optionsOf } from '../../src/cli/program/parser.ts';
import { changesSomething } from '../../src/cli/program/suggest.ts';
import { readingWords } from '../../src/cli/program/synonyms.ts';
import { commandTree } from '../../src/commands/index.ts';
import { runCli } from '../support/run-cli.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const env = folderEnv(await temporaryFolder());
const commands = await loadAllCommands(commandTree);
const aliases = groupsOf(commandTree).flatMap(({ path, group }) =>
  Object.entries(group.commands).flatMap(([word, entry]) => (isAlias(entry) ? [{ path, group, word, name: entry.aliasOf }] : [])),
);
const approval = '- approve: { id: go, title: "Publish?" }\n- say: published';

describe('the aliases of commands', () => {
  it.each(aliases.map((alias) => ({ ...alias, line: [...alias.path, alias.word].join(' ') })))(
    '$line stands for a command of its group and shows its help',
    async ({ path, group, word, name }) => {
      expect(namedEntries(group.commands).map(([commandName]) => commandName)).toContain(name);
      const help = await runCli([...path, word, '--help'], { env });
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toBe((await runCli([...path, name, '--help'], { env })).stdout);
      expect(help.stdout).toContain(`Usage: aops ${[...path, name].join(' ')} `);
      expect(help.stdout).toMatch(new RegExp(`^Aliases:\\n(  aops .*\\n)*  aops ${[...path, word].join(' ')}\\n`, 'm'));
      expect((await runCli(['help', ...path, word], { env })).stdout).toBe(help.stdout);
    },
  );

  it('cover the words of the vocabulary', () => {
    expect(aliases.map(({ path, word, name }) => `${path.join(' ')}: ${word} = ${name}`)).toEqual([
      'runs: answer = respond',
      'runs: cancel = stop',
      'runs: follow = watch',
      'runs: message = send',
      'sandbox: list = ls',
      'revisions: answer = respond',
      'revisions: cancel = discard',
      'revisions: follow = watch',
      'revisions: stop = discard',
      'artifacts: answer = respond',
      'artifacts: cancel = stop',
      'artifacts: message = send',
      'local: start = up',
      'local: stop = down',
    ]);
  });

  it('never lead from a word that asks to see something to a command that changes something', async () => {
    const readingAliases = aliases.filter(({ word }) => readingWords.has(word));
    expect(readingAliases.length).toBeGreaterThan(0);
    for (const { path, word } of readingAliases) expect(await changesSomething(commandTree, [...path, word].join(' ')), word).toBe(false);
  });

  it('are not listed in the help of their group', async () => {
    const help = await runCli(['runs', '--help'], { env });
    expect(help.stdout).toContain('  respond ');
    expect(help.stdout).not.toMatch(/^ {2}answer |respond\|answer/m);
  });

  it('appear with their command in the description for programs', async () => {
    const { data } = (await runCli(['commands', '--json'], { env })).json<{ data: { id: string; aliases: string[] }[] }>();
    expect(data.find(({ id }) => id === 'runs respond')?.aliases).toEqual(['runs answer']);
    expect(data.find(({ id }) => id === 'revisions discard')?.aliases).toEqual(['revisions cancel', 'revisions stop']);
    expect(data.find(({ id }) => id === 'runs list')?.aliases).toEqual([]);
  });

  it('are completed once no name begins with what was typed', async () => {
    const offers = async (...words: string[]): Promise<string[]> =>
      (await runCli(['__complete', '--', ...words], { env })).stdout.split('\n').slice(0, -1);
    expect((await offers('runs', '')).map((line) => line.split('\t')[0])).not.toContain('answer');
    expect(await offers('runs', 'an')).toEqual([expect.stringMatching(/^answer\t\S/)]);
    expect((await offers('runs', 'message')).map((line) => line.split('\t')[0])).toEqual(['messages']);
    expect(await offers('runs', 'answer', '--appr')).toEqual([expect.stringMatching(/^--approve\t\S/)]);
    expect(await offers('help', 'runs', 'an')).toEqual([expect.stringMatching(/^answer\t\S/)]);
    expect(await offers('runs', 'start', '--fol')).toEqual([expect.stringMatching(/^--follow\t\S/)]);
  });

  it('are suggested by the name of their command when they are misspelt', async () => {
    expect((await runCli(['runs', 'anwser'], { env })).stderr).toContain('Did you mean `aops runs respond`?');
    expect((await runCli(['runs', 'answer', '--aprove'], { env })).stderr).toContain('See `aops runs respond --help`.');
  });
});

describe('the aliases of flags', () => {
  it('give --follow to every command with --watch, and --watch to every command with --follow', () => {
    for (const { path, command } of commands) {
      const options = Object.entries(optionsOf(command));
      const spellings = options.flatMap(([key, { aliases: otherNames = [] }]) => [key, ...otherNames]).map(flagName);
      expect(spellings.includes('--watch'), path.join(' ')).toBe(spellings.includes('--follow'));
      expect(new Set(spellings).size, path.join(' ')).toBe(spellings.length);
    }
  });

  it('are named in help', async () => {
    const help = (await runCli(['runs', 'start', '--help'], { env })).stdout;
    expect(help.replaceAll(/\s+/g, ' ')).toContain('--watch Watch the run until it ends (alias: --follow)');
    expect(help).not.toMatch(/^ +--follow/m);
  });
});

describe('a command called by an alias', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it('answers a human request', async () => {
    const run = await service.waiting(approval);
    expect(await service.cli(['runs', 'answer', run, '--approve'])).toMatchObject({ code: 0 });
    expect((await service.cli(['runs', 'wait', run])).code).toBe(0);
  });

  it('stops a run', async () => {
    const run = await service.waiting(approval);
    expect(await service.cli(['runs', 'cancel', run])).toMatchObject({ code: 0 });
    expect((await service.cli(['runs', 'get', run, '--jq', '.run.status // .status'])).stdout).toContain('interrupted');
  });

  it('sends a message, and nothing without one', async () => {
    const run = await service.run('- say: hi');
    await service.cli(['runs', 'wait', run]);
    const refusal = await service.cli(['runs', 'message', run]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('aops runs send --help');
    expect(await service.cli(['runs', 'message', run, 'thanks'])).toMatchObject({ code: 0 });
    expect((await service.cli(['runs', 'messages', run])).stdout).toContain('thanks');
  });

  it('watches with --follow', async () => {
    await service.agent('- say: hello there', 'greeter');
    const watchResult = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'x', '--follow']);
    expect(watchResult.code).toBe(0);
    expect(watchResult.stdout).toContain('hello there');
  });
});

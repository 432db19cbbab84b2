/** Suggestions for words and flags of other tools: the right command, and never a changing command for a word that asks to see something. */
import { describe, expect, it } from 'vitest';
import { flagName } from '../../src/cli/kit/flags.ts';
import { globalFlags } from '../../src/cli/kit/global-flags.ts';
import { follow, groupsOf } from '../../src/cli/kit/tree.ts';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { optionsOf } from '../../src/cli/program/parser.ts';
import { changesSomething, isKnownLine, localChanges, suggestedCommands } from '../../src/cli/program/suggest.ts';
import { flags, flagsOf, generalMeanings, meaningsByGroup, readingWords } from '../../src/cli/program/synonyms.ts';
import { commandTree } from '../../src/commands/index.ts';
import { runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const env = folderEnv(await temporaryFolder());
const commands = await loadAllCommands(commandTree);
const places: string[] = ['', ...groupsOf(commandTree).map(({ path }) => path.join(' '))];
const words = (place: string): string[] => (place === '' ? [] : place.split(' '));
const inTable = Object.entries(meaningsByGroup).flatMap(([place, entries]) =>
  Object.entries(entries).map(([word, lines]): [string, string, readonly string[]] => [place, word, lines]),
);

const hintOf = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCli(argv, { env });
  expect([code, stdout]).toEqual([2, '']);
  return /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
};

describe('the table of words', () => {
  it('contains only words that are not commands in their place', () => {
    expect(inTable.length).toBeGreaterThan(100);
    for (const [place, word] of inTable) {
      expect(places, place).toContain(place);
      const { entries } = follow(commandTree, words(place));
      expect(Object.hasOwn(entries ?? {}, word), `${place} ${word} exists`).toBe(false);
    }
  });

  it('suggests existing commands with existing options', () => {
    for (const [place, word, lines] of inTable)
      for (const line of lines) {
        expect(isKnownLine(commandTree, line), `${place} ${word}: ${line}`).toBe(true);
        const command = commands.find(({ path }) => line.startsWith(path.join(' ')))?.command;
        const knownFlags = command ? Object.keys({ ...optionsOf(command), ...globalFlags }).map(flagName) : ['--version', '--help'];
        for (const flag of line.match(/--[a-z-]+/g) ?? []) expect(knownFlags, line).toContain(flag);
      }
  });

  it('contains only commands of existing groups for all groups', () => {
    const names = new Set(groupsOf(commandTree).flatMap(({ group }) => Object.keys(group.commands)));
    for (const candidates of Object.values(generalMeanings)) for (const name of candidates) expect(names).toContain(name);
  });

  it('contains only existing flags', () => {
    const knownFlags = new Set(commands.flatMap(({ command }) => Object.keys({ ...optionsOf(command), ...globalFlags }).map(flagName)));
    for (const flag of ['--help', '--version']) knownFlags.add(flag);
    for (const [flag, meant] of Object.entries(flags)) {
      expect(meant.length, flag).toBeGreaterThan(0);
      for (const suggestion of meant) expect(knownFlags, flag).toContain(suggestion.split(' ')[0]);
    }
    for (const place of Object.keys(flagsOf)) expect(commands.map(({ path }) => path.join(' '))).toContain(place);
  });

  it('knows which commands change this machine', () => {
    for (const id of localChanges) expect(commands.map(({ path }) => path.join(' '))).toContain(id);
  });

  it('never leads from a word that asks to see something to a command that changes something', async () => {
    let suggestionCount = 0;
    for (const place of places) {
      const { entries = {} } = follow(commandTree, words(place));
      for (const word of readingWords) {
        if (Object.hasOwn(entries, word)) continue;
        for (const line of await suggestedCommands({ tree: commandTree, path: words(place), word, rest: [] })) {
          suggestionCount += 1;
          expect(await changesSomething(commandTree, line), `aops ${place} ${word} -> ${line}`).toBe(false);
        }
      }
    }
    expect(suggestionCount).toBeGreaterThan(300);
    const table = [...inTable, ...Object.entries(generalMeanings).map(([word, lines]) => ['', word, lines] as const)];
    for (const [place, word, lines] of table)
      if (readingWords.has(word))
        for (const line of lines) expect(await changesSomething(commandTree, line), `${place} ${word}`).toBe(false);
  });

  it('suggests a changing command only for its own name with a single typo', async () => {
    const suggestionsFor = (path: string[], word: string) => suggestedCommands({ tree: commandTree, path, word, rest: [] });
    expect(await suggestionsFor(['runs'], 'stpo')).toEqual(['runs stop']);
    expect(await suggestionsFor(['agents'], 'delet')).toEqual(['agents delete']);
    expect(await suggestionsFor(['local'], 'resett')).toEqual(['local reset']);
    expect(await suggestionsFor(['runs'], 'shop')).not.toContain('runs stop');
    expect(await suggestionsFor(['runs'], 'shoot')).toEqual([]);
    expect(await suggestionsFor(['runs'], 'shwo')).toEqual(['runs get']);
    expect(await suggestionsFor(['agents'], 'deleeet')).toEqual([]);
    expect(await suggestionsFor(['runs'], 'scrennshots')).toEqual(['runs screenshots']);
  });
});

describe('an unknown command', () => {
  it.each([
    [['show', '17'], 'Did you mean `aops runs get RUN` or `aops agents get AGENT`?'],
    [['login'], 'Did you mean `aops auth login`?'],
    [['logs', 'RUN'], 'Did you mean `aops runs messages RUN` or `aops local logs`?'],
    [['ps'], 'Did you mean `aops runs list`?'],
    [['approve', 'RUN'], 'Did you mean `aops runs respond RUN --approve`?'],
    [['whoami'], 'Did you mean `aops auth status`?'],
    [['run', 'list'], 'Did you mean `aops runs list`?'],
    [['run', 'view', 'RUN'], 'Did you mean `aops runs get`?'],
    [['run', 'example'], 'Did you mean `aops runs start --agent AGENT`?'],
    [['agnets', 'list'], 'Did you mean `aops agents list`?'],
    [['agnets'], 'Did you mean `aops agents`?'],
    [['agent', 'ls'], 'Did you mean `aops agents list`?'],
    [['agents', 'schedule', 'add'], 'Did you mean `aops agents schedules create`?'],
    [['schedules', 'list'], 'Did you mean `aops agents schedules list`?'],
    [['rubrics'], 'Did you mean `aops agents rubrics`?'],
    [['triggers'], 'Did you mean `aops agents triggers`?'],
    [['run', 'hello'], 'Did you mean `aops runs start --agent AGENT`?'],
    [['agent', 'list'], 'Did you mean `aops agents list`?'],
    [['promote'], 'Did you mean `aops revisions promote`?'],
    [['secrets'], 'Did you mean `aops webhooks secret show` or `aops connections list`?'],
    [['runs', 'show'], 'Did you mean `aops runs get`?'],
    [['runs', 'view'], 'Did you mean `aops runs get`?'],
    [['runs', 'describe'], 'Did you mean `aops runs get`?'],
    [['runs', 'ls'], 'Did you mean `aops runs list`?'],
    [['runs', 'kill'], 'Did you mean `aops runs stop`?'],
    [['runs', 'tail'], 'Did you mean `aops runs watch RUN`?'],
    [['runs', 'logs'], 'Did you mean `aops runs messages RUN`?'],
    [['runs', 'approve'], 'Did you mean `aops runs respond RUN --approve`?'],
    [['runs', 'new'], 'Did you mean `aops runs start --agent AGENT`?'],
    [['agents', 'run', 'hello'], 'Did you mean `aops runs start --agent AGENT`?'],
    [['agents', 'new'], 'Did you mean `aops agents create`?'],
    [['agents', 'rm'], 'Did you mean `aops agents delete`?'],
    [['local', 'restart'], 'Did you mean `aops local down && aops local up`?'],
    [['queues', 'add'], 'Did you mean `aops cases create` or `aops queues create`?'],
    [['cases', 'add'], 'Did you mean `aops cases create`?'],
    [['config', 'view'], 'Did you mean `aops config list`?'],
    [['auth', 'whoami'], 'Did you mean `aops auth status`?'],
    [['webhooks', 'test'], 'Did you mean `aops webhooks trigger`?'],
    [['webhooks', 'secret', 'view'], 'Did you mean `aops webhooks secret show`?'],
  ])('%j', async (argv, hint) => {
    expect(await hintOf(...argv)).toContain(hint);
  });

  it('is reported with the word and the nearest help, also when help is requested', async () => {
    for (const argv of [
      ['runs', 'frobnicate'],
      ['runs', 'frobnicate', '--help'],
      ['help', 'runs', 'frobnicate'],
    ]) {
      const { code, stdout, stderr } = await runCli(argv, { env });
      expect([code, stdout, stderr]).toEqual([2, '', 'error: Unknown command "frobnicate".\nhint: See `aops runs --help`.\n']);
    }
    expect(await hintOf('frobnicate')).toBe('See `aops --help`.');
  });
});

describe('an unknown flag', () => {
  it.each([
    [['--verson'], '`aops --version`'],
    [['runs', 'list', '--namespace', 'x'], '`--team`'],
    [['runs', 'list', '--format', 'json'], '`--output`'],
    [['runs', 'list', '--output-format=json'], '`--output`'],
    [['runs', 'list', '-n', '3'], '`--limit`'],
    [['runs', 'list', '--no-color'], '`--color never`'],
    [['runs', 'list', '--verbose'], '`--debug`'],
    [['runs', 'list', '--version'], '`aops --version`'],
    [['runs', 'start', '--agent', 'a', '-f'], '`--watch`'],
    [['runs', 'start', '--agent', 'a', '--prompt', 'x'], '`--message`'],
    [['runs', 'messages', 'RUN', '--follow'], '`aops runs watch RUN`'],
    [['runs', 'watch', 'RUN', '-f'], '`aops runs watch` follows the run without this flag.'],
    [['runs', 'stop', 'RUN', '--dryrun'], '`--dry-run`'],
    [['agents', 'create', 'x', '--procedrue', 'f'], '`--procedure`'],
  ])('%j', async (argv, hint) => {
    expect(await hintOf(...argv)).toContain(hint);
  });

  it('is not mistaken for one that overwrites files', async () => {
    expect(await hintOf('sandbox', 'pull', 'RUN', '-f')).toBe('See `aops sandbox pull --help`.');
  });
});

describe('too many arguments', () => {
  it.each([
    [['inbox', 'list'], '`aops inbox` takes none.'],
    [['runs', 'start', '--message', 'hello', 'world'], '`aops runs start` takes none.'],
    [['runs', 'get', '1', '2'], '`aops runs get` takes 1, not 2.'],
    [['runs', 'send', '1', 'a', 'b'], '`aops runs send` takes 2, not 3.'],
  ])('are counted: %j', async (argv, reason) => {
    expect(await runCli(argv)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`error: Too many arguments: ${reason}\nhint: Put quotes around a text that contains spaces.`),
    });
  });
});

describe('the word help inside a group', () => {
  it('shows the help of the command', async () => {
    const list = await runCli(['runs', 'list', '--help'], { env });
    expect(list.stdout).toContain('Usage: aops runs list');
    for (const argv of [
      ['runs', 'help', 'list'],
      ['help', 'runs', 'list'],
    ])
      expect(await runCli(argv, { env })).toEqual({ ...list, json: expect.any(Function), lines: expect.any(Function) });
    expect((await runCli(['runs', 'help'], { env })).stdout).toContain('Usage: aops runs [options] [command]');
    expect((await runCli(['agents', 'schedules', 'help', 'create'], { env })).stdout).toContain('Usage: aops agents schedules create');
  });

  it('also suggests commands for words of other tools', async () => {
    expect(await hintOf('help', 'login')).toBe('Did you mean `aops auth login`?');
    expect(await hintOf('help', 'scriptin')).toBe('Did you mean `aops help scripting`?');
    expect(await hintOf('help', 'frobnicate')).toBe('See `aops --help` for the commands and the topics.');
  });

  it('is passed to commands that accept any words', async () => {
    expect(await hintOf('runs', 'send', 'help', '--nope')).toContain('aops runs send --help');
  });
});

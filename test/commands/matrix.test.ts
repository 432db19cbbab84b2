/** Properties of every command, including those that are added later. */
import { describe, expect, it } from 'vitest';
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import { type Argument, flagName, type Option } from '../../src/cli/kit/flags.ts';
import { globalFlags } from '../../src/cli/kit/global-flags.ts';
import { groupsOf, isGroup, isHidden, namedEntries, summaryOf } from '../../src/cli/kit/tree.ts';
import { describeCommand, type LoadedCommand, loadAllCommands } from '../../src/cli/program/describe.ts';
import { optionsOf } from '../../src/cli/program/parser.ts';
import { resultFields } from '../../src/cli/program/result-fields.ts';
import { topics } from '../../src/cli/program/topics/topics.ts';
import { commandTree } from '../../src/commands/index.ts';
import { type OperationId, operationIds } from '../../src/interface/operations.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const commands = await loadAllCommands(commandTree);
const env = folderEnv(await temporaryFolder());
const namedCommands = commands.map((loadedCommand): [string, LoadedCommand] => [loadedCommand.path.join(' '), loadedCommand]);
const aRun = '00000000-0000-4000-8000-000000000000';

const controlStart = String.fromCharCode(27);

/** Runs a command without a credential, and checks that its output is plain text. */
async function run(argv: readonly string[]): Promise<CliResult> {
  const result = await runCli(argv, { env });
  expect(result.stdout + result.stderr).not.toContain(controlStart);
  return result;
}

/** The text without line breaks. */
const words = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** The first of several likely values that is accepted. */
function acceptedValue(check: (value: string, name: string) => unknown): string {
  const match = ['x', aRun, 'https://example.com/hook', '1', 'x=y', '2026-07-18', 'run.failed'].find((value) => {
    try {
      check(value, 'it');
      return true;
    } catch {
      return false;
    }
  });
  if (match === undefined) throw new Error('add a value that this check accepts to the list above');
  return match;
}

/** Values for all required arguments and options of a command. */
function required(command: AnyCommand): string[] {
  const positional = Object.entries((command.arguments ?? {}) as Record<string, Argument>);
  const options = Object.entries(command.options ?? {}) as [string, Option][];
  return [
    ...options
      .filter(([, option]) => option.required)
      .flatMap(([key, option]) => [flagName(key), option.choices?.[0] ?? acceptedValue(option.parse)]),
    ...positional
      .filter(([, argument]) => argument.required)
      .map(([name, { check }]) => (name === 'paths' ? 'package.json' : name === 'run' ? aRun : acceptedValue(check ?? (() => undefined)))),
  ];
}

/** Additional arguments that some commands check before they contact a service. */
const alsoNeeded: Record<string, string[]> = {
  'agents update': ['--name', 'x'],
  'agents rubrics create': ['--description', 'x'.repeat(20)],
  'agents rubrics update': ['--title', 'abc'],
  'agents rubrics delete': ['--yes'],
  'agents rubrics replace': ['--from', 'rubrics.yaml', '--yes'],
  'agents schedules create': ['--frequency', 'daily'],
  'agents schedules update': ['--enabled'],
  'agents schedules next': ['x'],
  'local team update': ['--name', 'x'],
  'runs start': ['--agent', 'x'],
  'runs rerun': ['--agent', 'x'],
  'runs respond': ['--approve', '--agent', 'x'],
  'runs watch': [aRun],
  'artifacts update': ['--refresh', 'daily'],
  'artifacts export': ['--html', 'x'],
  'webhooks update': ['--enabled'],
  'webhooks delete': ['--yes'],
  'webhooks secret rotate': ['--yes'],
  'sandbox ls': [aRun],
  'sandbox push': ['package.json'],
  'connections update': ['--name', 'x'],
  'connections probe': ['x'],
  'connections authorize': ['x'],
  api: ['/v2/teams/x'],
  'local token create': ['--reveal'],
  'local client create': ['--reveal'],
};

/** Operations without a command: the MCP endpoint responds to GET with 405, and retired operations only redirect. */
const withoutCommand: ReadonlySet<string> = new Set(['getMcp', 'bulkDelegateCases', 'bulkRetryCases']);

interface ErrorLine {
  error: { code: string; message: string; hint?: string; exit: number };
}

describe.each(namedCommands)('aops %s', (id, { path, aliases, command }) => {
  it('shows help with an example', async () => {
    const help = await run([...path, '--help']);
    expect(help.code).toBe(0);
    expect(help.stderr).toBe('');
    expect(help.stdout).toContain(`Usage: aops`);
    expect(words(help.stdout)).toContain(command.summary);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const { command: line, text } of command.examples) {
      expect(help.stdout).toContain(`${line}\n`);
      expect(help.stdout).toContain(text);
      expect(line).toContain('aops');
    }
    expect(await run(['help', ...path])).toMatchObject({ code: 0, stdout: help.stdout });
    // Prose fits the terminal; text that is meant to be copied is not wrapped.
    const [before = '', after = ''] = help.stdout.split(/^Examples:$/m);
    const prose = [...before.split('\n'), ...after.split('\n').filter((line) => /^[A-Z]/.test(line))];
    for (const line of prose) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('ends silently when its output is closed', async () => {
    expect(await runCli([...path, '--help'], { env, brokenPipe: true })).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('has a description in the common format', () => {
    expect(command.summary).toMatch(/^[A-Z].*[^.]$/);
    const description = describeCommand({ path, aliases, command });
    expect(description.id).toBe(id);
    expect(JSON.parse(JSON.stringify(description))).toEqual(description);
    for (const option of description.options) {
      expect(option.flag).toMatch(/^--[a-z][a-z-]*$/);
      expect(option.summary).toMatch(/^[A-Z]/);
    }
    for (const operation of command.operations ?? []) expect(operationIds).toContain(operation);
  });

  if (command.output)
    it('documents the fields of its JSON, also in help', async () => {
      const result = resultFields(command);
      if (!result) throw new Error(`add what "${id}" returns: \`result: returns(...)\` (src/cli/kit/result.ts)`);
      const names = Object.keys(result.fields);
      expect(names.length).toBeGreaterThan(0);
      const help = words((await run([...path, '--help'])).stdout);
      expect(help).toContain(
        `${result.list ? 'JSON fields of each row, in {"data": [...], "total", "limit", "offset"}:' : 'JSON fields:'} ${names.join(', ')} ${command.exits ? 'Exit codes' : 'Global flags'}`,
      );
      expect(describeCommand({ path, aliases, command }).result).toEqual(result);
    });

  it('lists the choices of options, their --no- forms, and only its own exit codes in help', async () => {
    const help = words((await run([...path, '--help'])).stdout);
    for (const [key, option] of Object.entries(optionsOf(command))) {
      if (option.hidden) continue;
      for (const word of option.choices ?? []) expect(help).toContain(word);
      expect(help).toContain(option.negatable ? `--[no-]${flagName(key).slice(2)}` : flagName(key));
    }
    for (const code of command.exits ?? []) expect(help).toMatch(new RegExp(`Exit codes of this command: .*\\b${code} `));
    expect(help).toContain('`aops help exit-codes`');
  });

  it.each([40, 80])('fits %i columns', async (columns) => {
    const help = (await runCli([...path, '--help'], { env, tty: true, columns })).stdout;
    const codes = help.slice(help.indexOf('Exit codes of this command:'));
    if (help.includes('Exit codes of this command:'))
      for (const line of codes.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
  });

  it('has no flag with the name of a global one', () => {
    const globalOptions = Object.entries(globalFlags) as [string, Option][];
    for (const [key, option] of Object.entries(optionsOf(command))) {
      expect(globalOptions.map(([name]) => name)).not.toContain(key);
      if (option.short) expect(globalOptions.map(([, { short }]) => short)).not.toContain(option.short);
    }
  });

  it('rejects an unknown flag', async () => {
    const refusal = await run([...path, ...required(command), '--no-such-flag']);
    expect(refusal.code).toBe(2);
    expect(refusal.stdout).toBe('');
    expect(refusal.stderr).toContain(`error: Unknown option '--no-such-flag'`);
    expect(refusal.stderr).toContain(`aops ${id} --help`);

    const json = await run([...path, ...required(command), '--no-such-flag', '--json']);
    expect(json.code).toBe(2);
    expect(json.stdout).toBe('');
    const { error } = JSON.parse(json.stderr) as ErrorLine;
    expect(error).toMatchObject({ code: 'usage', exit: 2 });
    expect(error.message).toContain('--no-such-flag');
  });

  if (required(command).length > 0)
    it('names the missing argument', async () => {
      const refusal = await run(path);
      expect(refusal.code).toBe(2);
      expect(refusal.stdout).toBe('');
      expect(refusal.stderr).toMatch(/^error: (Missing required argument|Required option)/);
      expect(refusal.stderr).toContain(`aops ${id} --help`);
    });

  // `auth login` signs in, `doctor` also checks everything else, and `local open` and `local backup` use the key of the data directory.
  const signsIn = ['auth login', 'doctor', 'local open', 'local backup'].includes(id);
  if (command.operations?.length && !signsIn)
    it('says how to sign in without a credential', async () => {
      const argv = [...path, ...required(command), ...(alsoNeeded[id] ?? [])];
      const refusal = await run(argv);
      expect(refusal.stdout).toBe('');
      expect(refusal.stderr).toContain('error: You are not signed in.');
      expect(refusal.stderr).toMatch(/hint: .*aops auth login.*aops local up/);
      expect(refusal.code).toBe(4);

      const json = await run([...argv, '--json']);
      expect(json.stdout).toBe('');
      expect((JSON.parse(json.stderr) as ErrorLine).error).toMatchObject({ code: 'not_signed_in', exit: 4 });
      expect(json.code).toBe(4);
    });
});

describe('the tree of commands', () => {
  it('repeats the summaries of the commands outside groups', async () => {
    for (const entry of Object.values(commandTree)) if (!isGroup(entry)) expect(entry.summary).toBe((await entry.load()).default.summary);
  });

  it.each(groupsOf(commandTree).map((group) => ({ ...group, name: group.path.join(' ') })))(
    'lists what is in $name',
    async ({ path, group, name }) => {
      const help = await run(path);
      expect(help.code).toBe(0);
      expect(help.stdout).toContain(`Usage: aops ${name} `);
      for (const [word, entry] of namedEntries(group.commands)) {
        expect(help.stdout).toContain(`\n  ${word} `);
        expect(words(help.stdout)).toContain(await summaryOf(entry));
      }
      expect(words(help.stdout)).toContain(group.summary);
    },
  );

  it('suggests a command for a misspelt word', async () => {
    expect(await run(['rnus'])).toMatchObject({ code: 2, stdout: '' });
    expect((await run(['rnus'])).stderr).toContain('runs');
    const verb = await run(['runs', 'wacth']);
    expect(verb).toMatchObject({ code: 2, stdout: '' });
    expect(verb.stderr).toContain('watch');
    expect(verb.stderr).toContain('aops runs --help');
  });

  it('lists every group in the overview', async () => {
    for (const argv of [[], ['--help'], ['help']]) {
      const help = await run(argv);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      for (const [name, entry] of Object.entries(commandTree)) if (!isHidden(entry)) expect(help.stdout).toContain(`  ${name}`);
      expect(help.stdout).not.toContain('__complete');
      expect(help.stdout).toMatch(/^ {2}--version {2}/m);
    }
  });

  it('lists every group in a section of the overview, followed by the flags', async () => {
    for (const columns of [72, 80, 120]) {
      const help = (await runCli(['--help'], { env, tty: true, columns })).stdout;
      const titles = help.split('\n').filter((line) => /^[A-Z].*:$/.test(line));
      expect(titles).toEqual(['Start here:', ...new Set(Object.values(commandTree).map((entry) => `${entry.section}:`)), 'Global flags:']);
      for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
    }
  });

  it('has a command other than `api` for every operation of the interface', () => {
    const ownFlags = new Set(
      commands.filter(({ path }) => path[0] !== 'api').flatMap(({ command }) => command.operations ?? []) as OperationId[],
    );
    expect(operationIds.filter((id) => !ownFlags.has(id) && !withoutCommand.has(id))).toEqual([]);
    expect(commands.find(({ path }) => path[0] === 'api')?.command.operations).toEqual(operationIds);
  });

  it.each(Object.keys(topics))('has help on %s', async (topic) => {
    const help = await run(['help', topic]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain(`${topics[topic]?.summary}.\n\n`);
    for (const line of help.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect((await run([])).stdout).toContain(topic);
    const mistypedResult = await run(['help', topic.slice(0, -1)]);
    expect(mistypedResult).toMatchObject({ code: 2, stdout: '' });
    expect(mistypedResult.stderr).toContain(`aops help ${topic}`);
  });

  it('reports an unknown help topic', async () => {
    expect(await run(['help', 'agnets'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('`aops help agents`') });
    const refusal = await run(['help', 'zzzzzzzz']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toBe('error: There is no help topic "zzzzzzzz".\nhint: See `aops --help` for the commands and the topics.\n');
  });

  it('prints only the version', async () => {
    for (const argv of [['--version'], ['-V'], ['version']]) {
      const result = await run(argv);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(result.stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
    }
  });
});

describe('aops commands', () => {
  it('describes all commands as JSON', async () => {
    const result = await run(['commands', '--json']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const { data, total } = result.json<{ data: { id: string; exit_codes: number[] }[]; total: number }>();
    expect(data.map(({ id }) => id)).toEqual(namedCommands.map(([id]) => id));
    expect(total).toBe(commands.length);
    for (const { exit_codes } of data) expect(exit_codes).toContain(2);
  });
});

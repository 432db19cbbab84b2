/**
 * The program: parses the command line, creates the context, runs the command, and prints its result or its error.
 * Only this file turns a failure into an exit code.
 */
import { CommanderError, type Command as Parser } from 'commander';
import { exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { OutputFormat } from '../../config/settings.ts';
import { outputFailure, Terminal } from '../../terminal/streams.ts';
import { suggestionsWithSelection } from '../connect/selection.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import { type ChangeFlags, type GlobalFlags, globalFlags } from '../kit/global-flags.ts';
import {
  aliasesOf,
  type Entries,
  entryOf,
  follow,
  isGroup,
  isHidden,
  loaderOf,
  type NamedEntry,
  namedEntries,
  nameOf,
  sectionOf,
} from '../kit/tree.ts';
import type { CommandHelp } from './help.ts';
import { type Host, jobControl } from './host.ts';
import { withoutGaps } from './missing.ts';
import { overviewText } from './overview.ts';
import { addOptions, argumentValues, commandParser, newParser, optionsOf, optionValues, requireValues } from './parser.ts';
import { presentError, presentResult } from './present.ts';
import { afterChanges, checkForm, isFormError, knownFields } from './requested-form.ts';
import { projectOf, Session } from './session.ts';
import { firstWordIndex } from './user-commands/first-word.ts';
import type { UserCommandList } from './user-commands/resolve.ts';

/** Runs the command line of `host` with the commands of `tree`, and resolves to the exit code. */
export async function runProgram(host: Host, tree: Entries): Promise<number> {
  const terminal = terminalOf(host);
  const args = host.argv.slice(2);
  const exit = await runArguments(host, terminal, tree, args).catch((error: unknown) =>
    presentError(terminal, error, { json: args.includes('--json'), debug: false }),
  );
  await terminal.flush();
  return exit;
}

/** Shows a topic of the help, or runs an alias, an extension, or a command. */
async function runArguments(host: Host, terminal: Terminal, tree: Entries, args: string[]): Promise<number> {
  const topic = await showTopic(host, terminal, args, tree);
  if (topic !== undefined) return topic;
  const program = new Program(host, terminal, tree);
  const words = helpWords(args, tree);
  const index = firstWordIndex(words);
  const word = index === undefined ? undefined : words[index];
  if (word === undefined || entryOf(tree, word) !== undefined) return program.run(words);
  const { resolveUserCommand } = await import('./user-commands/resolve.ts');
  const command = await resolveUserCommand(host, tree, words);
  if (command === undefined) return program.run(words);
  if ('program' in command) return (await import('./user-commands/run-external.ts')).runExternal(host, command.program);
  return program.run([...command.args]);
}

/** Returns the exit code for output that could not be written, and reports the error unless the reader closed the pipe. */
export async function endFailed(host: Host, failure: Error): Promise<number> {
  const error = outputFailure(failure);
  if (error === undefined) return exitCodes.done;
  const terminal = terminalOf(host);
  return presentError(terminal, error, { json: false, debug: false });
}

function terminalOf(host: Host): Terminal {
  const { stdout, stderr, env } = host;
  return new Terminal({
    get stdin() {
      return host.stdin;
    },
    stdout,
    stderr,
    env,
    jobs: jobControl(host),
  });
}

/** Shows a topic such as `aops help scripting` or what an alias stands for, unless a command has that name. Returns the exit code, or undefined when it is not a topic. */
async function showTopic(host: Host, terminal: Terminal, args: string[], tree: Entries): Promise<number | undefined> {
  const [help, word = '', ...more] = args;
  if (help !== 'help' || word === '' || more.length > 0 || entryOf(tree, word)) return undefined;
  const { topics, topicText } = await import('./topics/topics.ts');
  const topic = Object.hasOwn(topics, word) ? topics[word] : undefined;
  if (topic) {
    await terminal.write(topicText(topic));
    return exitCodes.done;
  }
  if (word.startsWith('-')) return undefined;
  const { userCommandsOf } = await import('./user-commands/resolve.ts');
  const { aliases, extensions } = await userCommandsOf(host, tree);
  const alias = aliases.find(([name]) => name === word);
  if (alias) {
    await terminal.line(`aops ${word} is an alias for: ${alias[1]}`);
    return exitCodes.done;
  }
  if (extensions.some(([name]) => name === word)) return undefined;
  const similar = nearest(word, [...Object.keys(topics), ...Object.keys(tree)]);
  const { suggestedCommands, suggestion } = await import('./suggest.ts');
  const suggestions = similar === undefined ? await suggestedCommands({ tree, path: [], word, rest: [] }) : [`help ${similar}`];
  const hint = suggestion(suggestions) ?? 'See `aops --help` for the commands and the topics.';
  const error = new UsageError(`There is no help topic "${word}".`, hint);
  return presentError(terminal, error, { json: false, debug: false });
}

/** `aops help runs start` and `aops runs help start` mean `aops runs start --help`. */
function helpWords(args: string[], tree: Entries): string[] {
  const helpIndex = args.indexOf('help');
  const group = follow(tree, args.slice(0, Math.max(0, helpIndex)));
  if (helpIndex < 0 || group.entries === undefined || group.rest.length > 0 || entryOf(group.entries, 'help')) return args;
  return [...args.slice(0, helpIndex), ...args.slice(helpIndex + 1), '--help'];
}

const noUserCommands: UserCommandList = { aliases: [], extensions: [] };

class Program {
  readonly #host: Host;
  readonly #terminal: Terminal;
  readonly #tree: Entries;
  /** Output that commander writes without waiting for it. */
  #help: Promise<void> = Promise.resolve();
  #flags: GlobalFlags & ChangeFlags;
  #format: OutputFormat = 'table';
  #wantsHelp = false;
  /** The user's own commands, once the overview needs them. */
  #userCommands: UserCommandList = noUserCommands;
  /** The command that was called, if the words lead to one. */
  #command: AnyCommand | undefined;

  constructor(host: Host, terminal: Terminal, tree: Entries) {
    this.#host = host;
    this.#terminal = terminal;
    this.#tree = tree;
    this.#flags = optionValues(globalFlags, {}) as GlobalFlags;
  }

  async run(args: string[]): Promise<number> {
    this.#wantsHelp = args.includes('--help') || args.includes('-h');
    const path: string[] = [];
    try {
      const root = await this.#parserFor(args, path);
      if (this.#command !== undefined) requireValues(args, { ...globalFlags, ...optionsOf(this.#command) });
      await this.#parse(root, args);
      return this.#terminal.brokenPipe.aborted ? exitCodes.done : this.#exit;
    } catch (error) {
      if (this.#terminal.brokenPipe.aborted) return exitCodes.done;
      const reportedError = error instanceof CommanderError ? await this.#usageError(error, path, args) : error;
      if (reportedError === undefined) return exitCodes.done;
      return presentError(this.#terminal, reportedError, { json: this.#wantsJson(args), debug: this.#flags.debug });
    }
  }

  #exit: number = exitCodes.done;

  async #usageError(error: CommanderError, path: readonly string[], args: readonly string[]): Promise<unknown> {
    const { usageError } = await import('./usage-error.ts');
    return usageError(error, { path, args, command: this.#command });
  }

  /** Runs the parser, and waits until help is written, which commander does not wait for. */
  async #parse(root: Parser, args: string[]): Promise<void> {
    try {
      await root.parseAsync(args, { from: 'user' });
    } finally {
      await this.#help;
    }
  }

  /** A parser with the commands that the arguments can mean, loading no others. Adds the words that were followed to `path`. */
  async #parserFor(args: string[], path: string[]): Promise<Parser> {
    // commander's first pass separates the words from the flags, in whatever order they appear.
    const scout = this.#newRoot();
    const { operands } = scout.parseOptions(args);
    this.#takeFlags(scout);
    return this.#fill(this.#newRoot(), this.#tree, operands, path);
  }

  /** Adds the chosen entry of one level, with those below it, or all entries if none was chosen. */
  async #fill(parser: Parser, entries: Entries, words: readonly string[], path: string[]): Promise<Parser> {
    const [word = '', ...rest] = words;
    const chosenName = nameOf(entries, word);
    if (chosenName === undefined && word !== '') throw await this.#unknownCommand(path, word, rest);
    if (chosenName !== undefined) path.push(chosenName);
    if (chosenName !== undefined) {
      const child = await this.#selectedParser(entries, chosenName, rest, path);
      return parser.addCommand(chosenName === word ? child : child.alias(word));
    }
    for (const [name, entry] of namedEntries(entries)) {
      const child = await this.#listedParser(name, entry);
      const section = sectionOf(entry);
      parser.addCommand(section === undefined ? child : child.helpGroup(`${section}:`), { hidden: isHidden(entry) });
    }
    if (path.length === 0) this.#userCommands = await this.#readUserCommands();
    return parser.action(() => parser.help());
  }

  async #unknownCommand(path: readonly string[], word: string, rest: readonly string[]): Promise<UsageError> {
    const { unknownCommand } = await import('./usage-error.ts');
    const { aliases, extensions } = path.length === 0 ? await this.#readUserCommands() : noUserCommands;
    return unknownCommand(
      { tree: this.#tree, path, word, rest },
      [...aliases, ...extensions].map(([name]) => name),
    );
  }

  async #readUserCommands(): Promise<UserCommandList> {
    return (await import('./user-commands/resolve.ts')).userCommandsOf(this.#host, this.#tree);
  }

  async #selectedParser(entries: Entries, name: string, words: readonly string[], path: string[]): Promise<Parser> {
    const entry = entries[name] as NamedEntry;
    if (!isGroup(entry)) {
      const command = (await loaderOf(entry)()).default;
      this.#command = command;
      if (!this.#wantsHelp) return this.#leaf(name, command);
      const { resultFields } = await import('./result-fields.ts');
      const aliases = aliasesOf(entries, name).map((alias) => [...path.slice(0, -1), alias].join(' '));
      return this.#leaf(name, command, { result: resultFields(command), aliases });
    }
    return this.#fill(this.#withoutOutput(newParser(name, entry.summary)), entry.commands, words, path);
  }

  /** An entry in the overview of its group. */
  async #listedParser(name: string, entry: NamedEntry): Promise<Parser> {
    return typeof entry === 'function' ? this.#leaf(name, (await entry()).default) : newParser(name, entry.summary);
  }

  #newRoot(): Parser {
    const root = this.#withoutOutput(newParser('aops', 'Operate AI agents and their runs.'));
    addOptions(root, globalFlags);
    return root
      .usage('[flags] <group> <command>')
      .configureHelp({ ...root.configureHelp(), formatHelp: (parser, helper) => overviewText(parser, helper, this.#userCommands) });
  }

  #leaf(name: string, command: AnyCommand, help?: CommandHelp): Parser {
    return this.#withoutOutput(commandParser(name, command, (positional, options) => this.#invoke(command, positional, options), help));
  }

  /** Help goes to the terminal's writer; errors are thrown, not printed. */
  #withoutOutput(parser: Parser): Parser {
    return parser.configureOutput({
      writeOut: (text) => {
        this.#help = Promise.all([this.#help, this.#terminal.write(text)]).then(() => undefined);
        // A failure is reported when the promise is awaited; until then it must not count as unhandled.
        this.#help.catch(() => undefined);
      },
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(100, this.#terminal.out.columns),
    });
  }

  #takeFlags(parser: Parser): void {
    this.#flags = optionValues(globalFlags, parser.opts()) as GlobalFlags;
    const { color, quiet, noInput } = this.#flags;
    const suggestions = (text: string): string => suggestionsWithSelection(text, this.#flags);
    this.#terminal.configure({ quiet, input: !noInput, suggestions, ...(color === undefined ? {} : { color }) });
  }

  /** Whether errors should be printed as JSON, as far as is known if parsing failed. */
  #wantsJson(args: string[]): boolean {
    return (
      this.#flags.json || this.#flags.output === 'json' || this.#format === 'json' || this.#format === 'ndjson' || args.includes('--json')
    );
  }

  async #invoke(command: AnyCommand, positional: unknown[], options: Record<string, unknown>): Promise<void> {
    const values = optionValues(optionsOf(command), options);
    if (command.mutates) this.#flags = { ...this.#flags, ...(values as ChangeFlags) };
    const session = new Session(this.#host, this.#terminal, this.#flags, this.#tree, await projectOf(this.#host));
    const { context } = session;
    this.#format = context.format;
    try {
      await checkForm(context, command);
      const input = await withoutGaps(context, command, { ...argumentValues(command, positional), ...values });
      const result = await command.run(context, input);
      await presentResult(context, command.output, result, await knownFields(context, command)).catch((error: unknown) => {
        throw command.mutates && isFormError(error) ? afterChanges(error) : error;
      });
    } catch (error) {
      this.#exit = await presentFailure(context, command, await session.explained(error));
    } finally {
      await session.end();
    }
  }
}

/** Handles a failure: a dry run ends successfully, and an error may still have a result to print. */
async function presentFailure(context: Context, command: AnyCommand, error: unknown): Promise<number> {
  if (context.flags.dryRun) {
    const { DryRunStop } = await import('../../client/index.ts');
    if (error instanceof DryRunStop) {
      await presentResult(context, undefined, error.request);
      return exitCodes.done;
    }
  }
  const { ResultError } = await import('../kit/result-error.ts');
  if (error instanceof ResultError)
    await presentResult(context, command.output, error.result).catch((problem: unknown) => {
      // What happened matters more than that it cannot be printed in this form.
      if (!isFormError(problem)) throw problem;
      context.terminal.warn(problem.message);
    });
  if (context.flags.idempotencyKey === undefined) throw error;
  const { unlessOwnChangeIsOpen } = await import('../connect/journal.ts');
  throw await unlessOwnChangeIsOpen(context, error);
}

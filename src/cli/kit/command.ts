/**
 * A command is data plus a function. The parser, help, completions, the manual, `aops commands --json` and the tests
 * that loop over every command use its definition.
 */
import { type ExitCode, exitCodes } from '../../base/errors.ts';
import type { OperationId } from '../../interface/operations.ts';
import type { Context } from './context.ts';
import type { Arguments, CommandInput, Options } from './flags.ts';
import type { AnyOutput, Output } from './output.ts';
import type { ResultShape } from './result.ts';

export interface Example {
  /** The command line, without a prompt sign. */
  command: string;
  /** What it is for. */
  text: string;
}

export interface Command<A extends Arguments = Arguments, O extends Options = Options, Result = unknown> {
  /** One line, without a full stop. */
  readonly summary: string;
  /** Details, in paragraphs. */
  readonly description?: string;
  readonly arguments?: A;
  /** Keys in camelCase; the flags are their kebab-case. */
  readonly options?: O;
  /** Operations of the contract that it may call. */
  readonly operations?: readonly OperationId[];
  /** Changes something on the service: takes --idempotency-key and --dry-run. */
  readonly mutates?: boolean;
  /** Destroys something: asks first on a terminal, needs --yes elsewhere. */
  readonly destructive?: boolean;
  /** Exit codes in addition to those that every command can have. */
  readonly exits?: readonly ExitCode[];
  readonly examples: readonly Example[];
  readonly hidden?: boolean;
  /** The fields of the result, or of its rows; see result.ts. Used together with `output`. */
  readonly result?: ResultShape;
  /** What it prints instead in some cases, such as for several things. */
  readonly otherResults?: readonly ResultShape[];
  /** Whether its result can have further fields, which only the service knows. */
  readonly isResultOpen?: boolean;
  /** How the result is shown to people. Missing for commands that write their output directly or return nothing. */
  readonly output?: Output<Result> & AnyOutput;
  /** Resolves to the result to print, or to undefined when everything was already written. */
  run(context: Context, input: CommandInput<A, O>): Promise<Result | undefined>;
}

/** Fixes the types of a command definition. */
export const defineCommand = <const A extends Arguments, const O extends Options, Result>(
  command: Command<A, O, Result>,
): Command<A, O, Result> => command;

/** A command whose own types do not matter to the reader: the parser, help, docs. */
// biome-ignore lint/suspicious/noExplicitAny: a list of commands has no common argument type
export type AnyCommand = Command<any, any, any>;

/** Loads a command's module; its default export is the definition. */
export interface CommandLoader {
  (): Promise<{ default: AnyCommand }>;
  /** The summary of the command; the build adds it, so that lists of commands do not load them. */
  readonly summary?: string;
}

/** Another name for an entry on the same level. Help lists it with that entry, and completion offers it once its first letters are typed. */
export interface Alias {
  readonly aliasOf: string;
  readonly hidden: true;
}

export const aliasOf = (name: string): Alias => ({ aliasOf: name, hidden: true });

/** A group of commands and of further groups, such as `runs` and `webhooks secret`. Loaded at every start, so it contains only names. */
export interface Group {
  readonly summary: string;
  readonly commands: Readonly<Record<string, CommandLoader | Group | Alias>>;
  /** The section of the overview in which it is listed, on the first level. */
  readonly section?: string;
}

export const defineGroup = (group: Group): Group => group;

/** The exit codes with which a command can end, except those that need no explanation (0, 1, 130). */
export function exitsOf(command: AnyCommand): ExitCode[] {
  const codes = new Set<ExitCode>([exitCodes.usage, ...(command.exits ?? [])]);
  if (command.operations?.length) {
    for (const code of [
      exitCodes.notFound,
      exitCodes.auth,
      exitCodes.forbidden,
      exitCodes.rateLimited,
      exitCodes.unavailable,
      exitCodes.timeout,
    ])
      codes.add(code);
  }
  if (command.mutates) for (const code of [exitCodes.conflict, exitCodes.outcomeUnknown]) codes.add(code);
  return [...codes].sort((a, b) => a - b);
}

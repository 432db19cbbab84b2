/** Missing required arguments and options: picked by the user on an interactive terminal, an error everywhere else. */
import { CommanderError } from 'commander';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import { type Arguments, flagName, type Options } from '../kit/flags.ts';
import { argumentWord, optionsOf } from './parser.ts';

type Values = Record<string, unknown>;

/**
 * The values, completed by those that the user picked.
 * @throws CommanderError for a required value that cannot be picked here
 */
export async function withoutGaps(context: Context, command: AnyCommand, values: Values): Promise<Values> {
  const options = Object.entries(optionsOf(command) as Options);
  const args = Object.entries((command.arguments ?? {}) as Arguments);
  const all = { ...values };
  const isMissing = (name: string): boolean => all[name] === undefined || (Array.isArray(all[name]) && all[name].length === 0);
  for (const [key, option] of options)
    if (option.required && isMissing(key))
      all[key] = await picked(context, command, option, undefined, () => missingOption(`${flagName(key)} <${option.metavar}>`));
  for (const [name, argument] of args) {
    const { required, pick, variadic, check } = argument;
    const wanted = required || pick?.unless?.every((key) => !all[key]) === true;
    if (!wanted || !isMissing(name)) continue;
    const owner = all[args[0]?.[0] ?? ''];
    const of = typeof owner === 'string' ? owner : undefined;
    // The command has its own error for a missing optional argument.
    const value = await picked(context, command, argument, of, () => (required ? missingArgument(argumentWord(name)) : undefined));
    if (value === undefined) continue;
    const checked = check ? check(value, argumentWord(name)) : value;
    all[name] = variadic ? [checked] : checked;
  }
  return all;
}

async function picked(
  context: Context,
  command: AnyCommand,
  wanted: Arguments[string] | Options[string],
  of: string | undefined,
  otherwise: () => CommanderError | undefined,
): Promise<string | undefined> {
  const { canPick, pick } = await import('../picking/pick.ts');
  if (canPick(context, wanted.complete)) return pick(context, command, wanted, of);
  const error = otherwise();
  if (error) throw error;
  return undefined;
}

const missingArgument = (word: string): CommanderError =>
  new CommanderError(1, 'commander.missingArgument', `error: missing required argument '${word}'`);
const missingOption = (flags: string): CommanderError =>
  new CommanderError(1, 'commander.missingMandatoryOptionValue', `error: required option '${flags}' not specified`);

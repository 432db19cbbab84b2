/** Missing required arguments and options: picked by the user on an interactive terminal, an error everywhere else. */
import { CommanderError } from 'commander';
import { UsageError } from '../../base/errors.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import { type Arguments, flagName, type Options } from '../kit/flags.ts';
import { argumentWord, optionsOf } from './parser.ts';

type Values = Record<string, unknown>;

/**
 * The values, completed by those that the user picked.
 * @throws CommanderError or UsageError for a required value that cannot be picked here
 */
export async function withoutGaps(context: Context, command: AnyCommand, values: Values): Promise<Values> {
  const options = Object.entries(optionsOf(command) as Options);
  const args = Object.entries((command.arguments ?? {}) as Arguments);
  const completedValues = { ...values };
  const isMissing = (name: string): boolean =>
    completedValues[name] === undefined || (Array.isArray(completedValues[name]) && completedValues[name].length === 0);
  const isUnneeded = (unless: readonly string[] | undefined): boolean => unless?.every((key) => !completedValues[key]) !== true;
  for (const [key, option] of options)
    if ((option.required || !isUnneeded(option.pick?.unless)) && isMissing(key))
      completedValues[key] =
        settingOf(context, option) ?? (await pickArgument(context, command, option, undefined, () => missingOption(key, option)));
  for (const [name, argument] of args) {
    const { required, pick, variadic, check } = argument;
    const isNeeded = required || !isUnneeded(pick?.unless);
    if (!isNeeded || !isMissing(name)) continue;
    const owner = completedValues[args[0]?.[0] ?? ''];
    const ownerName = typeof owner === 'string' ? owner : undefined;
    // The command has its own error for a missing optional argument.
    const value = await pickArgument(context, command, argument, ownerName, () =>
      required ? missingArgument(argumentWord(name)) : undefined,
    );
    if (value === undefined) continue;
    const checkedValue = check ? check(value, argumentWord(name)) : value;
    completedValues[name] = variadic ? [checkedValue] : checkedValue;
  }
  return completedValues;
}

/** The value that a setting provides. A person should see which one a file selected. */
function settingOf(context: Context, { setting }: Options[string]): string | undefined {
  if (setting === undefined) return undefined;
  const { value, source, name } = context.config()[setting];
  if (value !== undefined && source === 'project')
    context.terminal.note(`Using the ${setting} "${sanitizeLine(value)}" from ${sanitizeLine(name)}.`);
  return value;
}

async function pickArgument(
  context: Context,
  command: AnyCommand,
  input: Arguments[string] | Options[string],
  owner: string | undefined,
  missingError: () => Error | undefined,
): Promise<string | undefined> {
  const { canPick, pick } = await import('../picking/pick.ts');
  if (canPick(context, input.complete)) return pick(context, command, input, owner);
  const error = missingError();
  if (error) throw error;
  return undefined;
}

const missingArgument = (word: string): CommanderError =>
  new CommanderError(1, 'commander.missingArgument', `error: missing required argument '${word}'`);

function missingOption(key: string, { metavar, setting }: Options[string]): Error {
  const message = `required option '${flagName(key)} <${metavar}>' not specified`;
  if (setting === undefined) return new CommanderError(1, 'commander.missingMandatoryOptionValue', `error: ${message}`);
  return new UsageError(`R${message.slice(1)}.`, `Pass it, or set a default with \`aops config set ${setting} ${metavar}\`.`);
}

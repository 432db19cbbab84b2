/** Errors for invalid command lines, which suggest what was probably meant. Loaded only when there is one. */
import { UsageError } from '../../base/errors.ts';
import type { AnyCommand } from '../kit/command.ts';
import { type Arguments, flagName } from '../kit/flags.ts';
import { argumentWord } from './parser.ts';
import { meantCommands, meantFlag, suggestion, type Unknown } from './suggest.ts';

/** The error for an unknown command. */
export async function unknownCommand(unknown: Unknown): Promise<UsageError> {
  const help = `See \`${['aops', ...unknown.path].join(' ')} --help\`.`;
  const meant = suggestion(await meantCommands(unknown));
  return new UsageError(`Unknown command "${unknown.word}".`, meant === undefined ? help : `${meant} ${help}`);
}

/**
 * Converts commander's error; undefined for the "errors" that only mean that help was shown.
 * @param called the words that were followed, all arguments, and the command if it is known
 */
export function usageError(
  error: { code: string; message: string },
  { path, args, command }: { path: readonly string[]; args: readonly string[]; command?: AnyCommand | undefined },
): UsageError | undefined {
  if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help' || error.code === 'commander.version') return undefined;
  const message = error.message.replace(/^error: /, '');
  const sentence = message.charAt(0).toUpperCase() + message.slice(1) + (message.endsWith('.') ? '' : '.');
  const line = ['aops', ...path].join(' ');
  const flag = error.code === unknownOption ? /'([^'=]+)/.exec(message)?.[1] : undefined;
  const special = command && (fieldsBehindJson(error.code, args) ?? (flag && withoutFlag(flag, line, command)));
  if (special) return new UsageError(sentence, special);
  const meant = flag && meantFlag(flag, path.join(' '), command);
  return new UsageError(sentence, `${meant ? `${meant} ` : ''}See \`${line} --help\`.`);
}

const unknownOption = 'commander.unknownOption';

/** For `--json id,title`, as in gh: fields have a flag of their own here. */
function fieldsBehindJson(code: string, args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => arg === '--json' || arg.startsWith('--json='));
  if (at < 0) return undefined;
  const joined = args[at]?.startsWith('--json=') === true;
  const value = joined ? args[at]?.slice('--json='.length) : args[at + 1];
  if (code !== (joined ? unknownOption : 'commander.excessArguments') || !value || value.startsWith('-')) return undefined;
  return `--json does not take a value. Choose fields with \`--json --fields ${value}\`.`;
}

/** For an argument that was written as a flag: `--name x` instead of `x`. */
function withoutFlag(flag: string, line: string, command: AnyCommand): string | undefined {
  const names = Object.keys((command.arguments ?? {}) as Arguments);
  const meant = names.find((name) => flag === flagName(name));
  if (meant === undefined) return undefined;
  return `${argumentWord(meant)} is an argument, not a flag: \`${line} ${names.map(argumentWord).join(' ')}\`.`;
}

/** Errors for invalid command lines, which suggest what was probably meant. Loaded only when there is one. */
import { capitalize } from '../../base/capitalize.ts';
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { AnyCommand } from '../kit/command.ts';
import { type Arguments, flagName } from '../kit/flags.ts';
import { argumentWord } from './parser.ts';
import { suggestedCommands, suggestedFlag, suggestion, type UnknownWord } from './suggest.ts';

/**
 * The error for an unknown command.
 * @param userCommands names of aliases and extensions, which may also be meant
 */
export async function unknownCommand(unknownWord: UnknownWord, userCommands: readonly string[] = []): Promise<UsageError> {
  const help = `See \`${['aops', ...unknownWord.path].join(' ')} --help\`.`;
  const similar = nearest(unknownWord.word, userCommands);
  const hint = suggestion([...(similar === undefined ? [] : [similar]), ...(await suggestedCommands(unknownWord))]);
  return new UsageError(`Unknown command "${unknownWord.word}".`, hint === undefined ? help : `${hint} ${help}`);
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
  const line = ['aops', ...path].join(' ');
  const message = error.message.replace(/^error: /, '');
  const excess = error.code === excessArguments ? tooManyArguments(message, line) : undefined;
  const sentence = excess ?? capitalize(message) + (message.endsWith('.') ? '' : '.');
  const flag = error.code === unknownOption ? /'([^'=]+)/.exec(message)?.[1] : undefined;
  const specialError = command && (fieldsBehindJson(error.code, args) ?? (flag && withoutFlag(flag, line, command)));
  if (specialError) return new UsageError(sentence, specialError);
  const hint = excess ? 'Put quotes around a text that contains spaces.' : flag && suggestedFlag(flag, path.join(' '), command);
  return new UsageError(sentence, `${hint ? `${hint} ` : ''}See \`${line} --help\`.`);
}

const unknownOption = 'commander.unknownOption';
const excessArguments = 'commander.excessArguments';

/** commander names the last word of the command, and counts "0 arguments". */
function tooManyArguments(message: string, line: string): string | undefined {
  const [, expected, got] = /Expected (\d+) arguments? but got (\d+)/.exec(message) ?? [];
  if (expected === undefined) return undefined;
  return `Too many arguments: \`${line}\` takes ${expected === '0' ? 'none' : `${expected}, not ${got}`}.`;
}

/** For `--json id,title`, as in gh: fields have a flag of their own here. */
function fieldsBehindJson(code: string, args: readonly string[]): string | undefined {
  const jsonIndex = args.findIndex((arg) => arg === '--json' || arg.startsWith('--json='));
  if (jsonIndex < 0) return undefined;
  const hasJoinedValue = args[jsonIndex]?.startsWith('--json=') === true;
  const value = hasJoinedValue ? args[jsonIndex]?.slice('--json='.length) : args[jsonIndex + 1];
  if (code !== (hasJoinedValue ? unknownOption : excessArguments) || !value || value.startsWith('-')) return undefined;
  return `--json does not take a value. Choose fields with \`--json --fields ${value}\`.`;
}

/** For an argument that was written as a flag: `--name x` instead of `x`. */
function withoutFlag(flag: string, line: string, command: AnyCommand): string | undefined {
  const names = Object.keys((command.arguments ?? {}) as Arguments);
  const optionName = names.find((name) => flag === flagName(name));
  if (optionName === undefined) return undefined;
  return `${argumentWord(optionName)} is an argument, not a flag: \`${line} ${names.map(argumentWord).join(' ')}\`.`;
}

/** The parts of a command's help that commander does not provide: description, examples, exit codes. */
import { type ExitCode, exitCodes } from '../../base/errors.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { ResultFields } from './result-fields.ts';

/** The meaning of each exit code. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  [exitCodes.done]: 'success',
  [exitCodes.failure]: 'unexpected failure',
  [exitCodes.usage]: 'invalid flag or input, or a prompt was needed but not possible',
  [exitCodes.notFound]: 'not found',
  [exitCodes.auth]: 'not signed in, or the credential was rejected',
  [exitCodes.forbidden]: 'forbidden',
  [exitCodes.conflict]: 'conflict',
  [exitCodes.rateLimited]: 'rate limited for longer than --max-wait',
  [exitCodes.unavailable]: 'network or service unavailable after retries',
  [exitCodes.timeout]: '--timeout expired',
  [exitCodes.runFailed]: 'the run failed',
  [exitCodes.runInterrupted]: 'the run was interrupted',
  [exitCodes.runWaiting]: 'the run waits for a person, and this command cannot ask one',
  [exitCodes.outcomeUnknown]: 'outcome unknown: a change was sent and no response arrived',
  [exitCodes.interrupted]: 'Ctrl-C',
  [exitCodes.terminated]: 'terminated',
};

/** The parts of a command's help that are not in its definition. */
export interface CommandHelp {
  result: ResultFields | undefined;
  /** Other words that call it, such as `runs answer`. */
  aliases: readonly string[];
}

/**
 * Text that follows the options in a command's help.
 * @param width maximum width of prose, in columns
 */
export function helpSections(
  command: AnyCommand,
  width: number,
  { result, aliases }: CommandHelp = { result: undefined, aliases: [] },
): string {
  const sections: string[] = [];
  if (command.description)
    sections.push(
      command.description
        .trim()
        .split('\n')
        .map((line) => wrapped(line, width))
        .join('\n'),
    );
  if (aliases.length > 0) sections.push(`Aliases:\n${aliases.map((alias) => `  aops ${alias}`).join('\n')}`);
  sections.push(`Examples:\n${command.examples.map(({ command: line, text }) => `  ${line}\n      ${text}`).join('\n')}`);
  if (result) sections.push(`${wrapped(jsonForm(result), width)}\n${wrapped(`  ${Object.keys(result.fields).join(', ')}`, width)}`);
  const codes = (command.exits ?? []).map(
    (code) => `  ${String(code).padStart(2)}  ${wrapped(exitMeanings[code], width - 6).replaceAll('\n', '\n      ')}`,
  );
  if (codes.length > 0) sections.push(`Exit codes of this command:\n${codes.join('\n')}`);
  sections.push(
    wrapped('Global flags: see `aops --help`. More: `aops help exit-codes`, `aops help scripting`, `aops help formatting`.', width),
  );
  return `\n${sections.join('\n\n')}`;
}

/** The introduction to the JSON fields. */
const jsonForm = ({ list }: ResultFields): string =>
  list ? 'JSON fields of each row, in {"data": [...], "total", "limit", "offset"}:' : 'JSON fields:';

/** The text wrapped to the width; each line has the indentation of the text. */
function wrapped(text: string, width: number): string {
  const indent = /^ */.exec(text)?.[0] ?? '';
  const lines: string[] = [];
  for (const word of text.trim().split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}

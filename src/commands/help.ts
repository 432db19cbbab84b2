/** The parts of a command's help that commander does not write: description, examples, exit codes. */
import { type ExitCode, exitCodes } from '../base/errors.ts';
import { type AnyCommand, exitsOf } from './define.ts';
import type { ResultFields } from './result-fields.ts';

/** What each exit code means, in a few words. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  [exitCodes.done]: 'done',
  [exitCodes.failure]: 'unexpected failure',
  [exitCodes.usage]: 'bad flag or input, or a prompt was needed and not possible',
  [exitCodes.notFound]: 'not found',
  [exitCodes.auth]: 'not signed in, or the credential was rejected',
  [exitCodes.forbidden]: 'forbidden',
  [exitCodes.conflict]: 'conflict',
  [exitCodes.rateLimited]: 'rate limited for longer than --max-wait',
  [exitCodes.unavailable]: 'network or service unavailable after retries',
  [exitCodes.timeout]: '--timeout passed',
  [exitCodes.runFailed]: 'the run failed',
  [exitCodes.runInterrupted]: 'the run was interrupted',
  [exitCodes.runWaiting]: 'the run waits for a person and nobody may be asked here',
  [exitCodes.outcomeUnknown]: 'outcome unknown: the change was sent and its answer never came',
  [exitCodes.interrupted]: 'Ctrl-C',
  [exitCodes.terminated]: 'terminated',
};

/** Text that follows the options in a command's help. */
export function helpSections(command: AnyCommand, result?: ResultFields): string {
  const sections: string[] = [];
  if (command.description) sections.push(command.description.trim());
  sections.push(`Examples:\n${command.examples.map(({ command: line, text }) => `  ${line}\n      ${text}`).join('\n')}`);
  if (result) sections.push(`${jsonForm(result)}\n${wrapped(Object.keys(result.fields).join(', '))}`);
  const codes = exitsOf(command).map((code) => `  ${String(code).padStart(2)}  ${exitMeanings[code]}`);
  sections.push(`Exit codes (beside 0, 1 and 130):\n${codes.join('\n')}`);
  sections.push('Global flags: see `aops --help`. More: `aops help scripting`, `aops help formatting`.');
  return `\n${sections.join('\n\n')}`;
}

/** What the JSON looks like, before its fields are named. */
const jsonForm = ({ list }: ResultFields): string =>
  list ? 'JSON fields of each row, in {"data": [...], "total", "limit", "offset"}:' : 'JSON fields:';

const helpWidth = 78;

/** Words on lines of two spaces and no more than the width of a help text. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= helpWidth) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

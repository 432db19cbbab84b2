/** What a command prints for a result, without the service. */
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import { presentResult } from '../../src/cli/program/present.ts';
import type { OutputFormat } from '../../src/config/settings.ts';
import type { Terminal } from '../../src/terminal/streams.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';
import { now } from './samples.ts';

/** What a command needs of its context to print a result. */
export const presentingContext = (terminal: Terminal, format: OutputFormat, fields?: string): Context =>
  ({
    terminal,
    format,
    flags: { fields },
    clock: { now: () => now },
    config: () => ({ pager: { value: undefined } }),
  }) as unknown as Context;

/** The output of a command for a result: in a pipe, or on a terminal with this many columns. */
export async function showResult(
  command: AnyCommand,
  result: unknown,
  columns?: number,
  { format = 'table', fields }: { format?: OutputFormat; fields?: string } = {},
): Promise<{ stdout: string; stderr: string }> {
  const fake = fakeTerminal({
    tty: columns === undefined ? false : { stdout: true, stderr: true },
    columns: columns ?? 80,
    env: { NO_COLOR: '1', LANG: 'C.UTF-8' },
  });
  await presentResult(presentingContext(fake.terminal, format, fields), command.output, result);
  await fake.terminal.flush();
  return { stdout: fake.stdout(), stderr: fake.stderr() };
}

import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { dataDirFlag, defaultDataDirectory, findService, logFile } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, integer } from '../../cli/kit/flags.ts';
import { LogReader } from './log-file.ts';
import { parsableLine, readableLine } from './service-log.ts';

const lookMilliseconds = 250;

export default defineCommand({
  summary: 'Show the log of the local service',
  description: 'On a terminal the entries are lines to read; in a pipe, and with --json, they are JSON, one in each line.',
  options: {
    ...dataDirFlag,
    follow: flag('Keep printing new entries, until Ctrl-C', { short: 'f', aliases: ['watch'] }),
    tail: integer('N', 'Begin with so many lines from the end (default: all of them)', { minimum: 1, maximum: 1_000_000 }),
  },
  examples: [
    { command: 'aops local logs', text: 'All of it' },
    { command: 'aops local logs -f --tail 20', text: 'What happened last, and what happens now' },
  ],
  async run(context, input) {
    const found = await findService(context, input.dataDir);
    if (found?.served) {
      throw new AopsError(`The service at ${found.state.url} was started with \`aops serve\`, which writes its log to stderr.`, {
        code: 'log_not_found',
        exit: exitCodes.notFound,
        hint: 'Look where it was started: in its terminal, or in the journal of what supervises it.',
      });
    }
    const directory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const name = logFile(found?.state.data_dir ?? directory);
    const log = await LogReader.open(name).catch((error: unknown) => {
      if (!isAbsent(error)) throw readFailure(error, name);
      throw new AopsError('There is no log yet.', {
        code: 'log_not_found',
        exit: exitCodes.notFound,
        hint: 'Start the local service with `aops local up`.',
      });
    });
    const asItIs = context.terminal.out.isTTY ? readableLine : (line: string) => line;
    const shown = context.format === 'table' ? asItIs : parsableLine;
    const show = async (lines: readonly string[]): Promise<void> => {
      for (const line of lines) await context.terminal.line(shown(line));
    };
    try {
      // A character may begin in one piece and end in the next.
      const decoder = new TextDecoder();
      let rest = '';
      /** Held back until the end was seen, of which they may be too far. */
      let held: string[] | undefined = input.tail === undefined ? undefined : [];
      for (;;) {
        const bytes = await log.read();
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        if (held === undefined) await show(lines);
        else held = [...held, ...lines].slice(-(input.tail as number));
        if (bytes.length > 0) continue;
        await show(held ?? []);
        held = undefined;
        if (!input.follow) break;
        await context.clock.sleep(lookMilliseconds, context.signal);
      }
      if (rest !== '') await show([rest]);
    } finally {
      await log.close();
    }
  },
});

import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { dataDirFlag, defaultDataDirectory, findService, logFile } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, integer } from '../../cli/kit/flags.ts';
import { LogReader } from './log-file.ts';
import { parsableLine, readableLine } from './service-log.ts';

const pollMilliseconds = 250;

export default defineCommand({
  summary: 'Show the log of the local service',
  description:
    'On a terminal, entries are printed as readable lines; in a pipe or with --json, they are printed as one JSON object per line.',
  options: {
    ...dataDirFlag,
    follow: flag('Keep printing new entries, until Ctrl-C', { short: 'f', aliases: ['watch'] }),
    tail: integer('N', 'Start with this many lines from the end (default: all lines)', { minimum: 1, maximum: 1_000_000 }),
  },
  examples: [
    { command: 'aops local logs', text: 'Print the whole log' },
    { command: 'aops local logs -f --tail 20', text: 'Print the last 20 entries and follow the log' },
  ],
  async run(context, input) {
    const service = await findService(context, input.dataDir);
    if (service?.isServed) {
      throw new AopsError(`The service at ${service.state.url} was started with \`aops serve\`, which writes its log to stderr.`, {
        code: 'log_not_found',
        exit: exitCodes.notFound,
        hint: 'Look where it was started: in its terminal, or in the journal of its process manager.',
      });
    }
    const directory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const name = logFile(service?.state.data_dir ?? directory);
    const log = await LogReader.open(name).catch((error: unknown) => {
      if (!isAbsent(error)) throw readFailure(error, name);
      throw new AopsError('There is no log yet.', {
        code: 'log_not_found',
        exit: exitCodes.notFound,
        hint: 'Start the local service with `aops local up`.',
      });
    });
    const formatLine = context.terminal.out.isTTY ? readableLine : (line: string) => line;
    const format = context.format === 'table' ? formatLine : parsableLine;
    const show = async (lines: readonly string[]): Promise<void> => {
      for (const line of lines) await context.terminal.line(format(line));
    };
    try {
      // A character can be split between two chunks.
      const decoder = new TextDecoder();
      let rest = '';
      /** The last lines so far, with --tail, until the end is reached. */
      let lastLines: string[] | undefined = input.tail === undefined ? undefined : [];
      for (;;) {
        const bytes = await log.read();
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        if (lastLines === undefined) await show(lines);
        else lastLines = [...lastLines, ...lines].slice(-(input.tail as number));
        if (bytes.length > 0) continue;
        await show(lastLines ?? []);
        lastLines = undefined;
        if (!input.follow) break;
        await context.clock.sleep(pollMilliseconds, context.signal);
      }
      if (rest !== '') await show([rest]);
    } finally {
      await log.close();
    }
  },
});

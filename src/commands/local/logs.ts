import { open } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand, flag } from '../define.ts';
import { dataDirFlag, defaultDataDirectory, findService, logFile } from './state.ts';

const lookMilliseconds = 250;

export default defineCommand({
  summary: 'Show the log of the local service',
  options: { ...dataDirFlag, follow: flag('Go on showing what is added, until Ctrl-C', { short: 'f' }) },
  examples: [
    { command: 'aops local logs', text: 'All of it' },
    { command: 'aops local logs -f', text: 'What happens now' },
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
    const file = await open(name).catch(() => {
      throw new AopsError('There is no log yet.', {
        code: 'log_not_found',
        exit: exitCodes.notFound,
        hint: 'Start the local service with `aops local up`.',
      });
    });
    try {
      const buffer = Buffer.alloc(65_536);
      let rest = '';
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
        const lines = (rest + buffer.toString('utf8', 0, bytesRead)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) await context.terminal.line(line);
        if (bytesRead > 0) continue;
        if (!input.follow) break;
        await context.clock.sleep(lookMilliseconds, context.signal);
      }
      if (rest !== '') await context.terminal.line(rest);
    } finally {
      await file.close();
    }
  },
});

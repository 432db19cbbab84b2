import { open } from 'node:fs/promises';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand, flag } from '../define.ts';
import { defaultDataDirectory, logFile, runningService } from './state.ts';

const lookMilliseconds = 250;

export default defineCommand({
  summary: 'Show the log of the local service',
  options: { follow: flag('Go on showing what is added, until Ctrl-C', { short: 'f' }) },
  examples: [
    { command: 'aops local logs', text: 'All of it' },
    { command: 'aops local logs -f', text: 'What happens now' },
  ],
  async run(context, input) {
    const state = await runningService(context);
    const name = logFile(state?.data_dir ?? defaultDataDirectory(context));
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

import path from 'node:path';
import { exitCodes, UsageError } from '../../base/errors.ts';
import { dataDirFlag, defaultDataDirectory, owningService, runningService, servedElsewhere } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { stopService } from './down.ts';

export default defineCommand({
  summary: 'Stop the local service and delete its data',
  description: 'Deletes all agents, runs, and files. Other files in the data directory are kept.',
  options: dataDirFlag,
  destructive: true,
  exits: [exitCodes.conflict],
  examples: [{ command: 'aops local reset --yes', text: 'Delete all data without confirmation' }],
  result: returns({ deleted: 'boolean', data_dir: 'string' }),
  output: textOutput<{ deleted: boolean; data_dir: string }>(({ deleted, data_dir }) =>
    deleted ? `Deleted the data in ${data_dir}.` : `There is no data in ${data_dir}.`,
  ),
  async run(context, input) {
    const running = input.dataDir === undefined ? await runningService(context) : await runningService(context).catch(() => undefined);
    const dataDirectory =
      input.dataDir === undefined ? (running?.data_dir ?? defaultDataDirectory(context)) : path.resolve(context.cwd, input.dataDir);
    const { namesIn, removeData } = await import('../../service/backup/index.ts');
    const names = await namesIn(dataDirectory);
    if (names.length === 0) return { deleted: false, data_dir: dataDirectory };
    if (!names.includes('aops.db')) throw new UsageError(`${dataDirectory} is not an aops data directory; nothing was deleted.`);
    // Another service is using the data.
    const owner = await owningService(dataDirectory);
    if (owner !== undefined && owner.instance_id !== running?.instance_id) throw servedElsewhere(owner);
    await confirm(context, `Delete all agents, runs, and files in ${dataDirectory}?`);
    if (running?.data_dir === dataDirectory) await stopService(context, running);
    const [otherName] = await removeData(dataDirectory);
    if (otherName !== undefined) context.terminal.note(`Other files in ${dataDirectory} were kept, such as ${otherName}.`);
    return { deleted: true, data_dir: dataDirectory };
  },
});

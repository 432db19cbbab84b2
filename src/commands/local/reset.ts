import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { exitCodes, UsageError } from '../../base/errors.ts';
import { confirm } from '../confirm.ts';
import { defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';
import { returns } from '../result.ts';
import { stopService } from './down.ts';
import { dataDirFlag, defaultDataDirectory, owningService, runningService, servedElsewhere } from './state.ts';

export default defineCommand({
  summary: 'Stop the local service and delete its data: agents, runs, files',
  options: dataDirFlag,
  destructive: true,
  exits: [exitCodes.conflict],
  examples: [{ command: 'aops local reset --yes', text: 'Start over' }],
  result: returns({ deleted: 'boolean', data_dir: 'string' }),
  output: textOutput<{ deleted: boolean; data_dir: string }>(({ deleted, data_dir }) =>
    deleted ? `Deleted ${data_dir}.` : `There is nothing in ${data_dir}.`,
  ),
  async run(context, input) {
    const running = await runningService(context);
    const dataDirectory =
      input.dataDir === undefined ? (running?.data_dir ?? defaultDataDirectory(context)) : path.resolve(context.cwd, input.dataDir);
    const names = await readdir(dataDirectory).catch(() => []);
    if (names.length === 0) return { deleted: false, data_dir: dataDirectory };
    if (!(names as string[]).includes('aops.db'))
      throw new UsageError(`${dataDirectory} is no data directory of aops; nothing was deleted.`);
    // Its data would be deleted under it.
    const owner = await owningService(dataDirectory);
    if (owner !== undefined && owner.instance_id !== running?.instance_id) throw servedElsewhere(owner);
    await confirm(context, `Delete all agents, runs and files in ${dataDirectory}?`);
    if (running?.data_dir === dataDirectory) await stopService(context, running);
    await rm(dataDirectory, { recursive: true, force: true });
    return { deleted: true, data_dir: dataDirectory };
  },
});

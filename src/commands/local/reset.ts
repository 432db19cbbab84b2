import { readdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { dataDirFlag, defaultDataDirectory, owningService, runningService, servedElsewhere } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { stopService } from './down.ts';

/** The files of a service in its data directory. Any other file belongs to the user, since the directory might have existed before. */
const ownName = /^(aops\.db(-wal|-shm|-journal)?|restoring|secrets\.key(\.new)?|token(\.new)?|service\.(log|json(\.\d+)?))$/;
/** Folders that might have existed before, and the entries that a service creates in them. */
const ownFolders: Readonly<Record<string, RegExp>> = {
  sandboxes: /^[0-9a-f-]{36}(\.[\w-]+)*$/,
  files: /^[0-9a-f-]{36}(\.\w+)?$/,
  backups: /^aops-.*\.db$/,
  contained: /^(group|passwd|trial-[0-9a-f-]{36})$/,
};

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
    const names = await readdir(dataDirectory).catch((error: unknown) => {
      if (isAbsent(error)) return [] as string[];
      throw readFailure(error, dataDirectory);
    });
    if (names.length === 0) return { deleted: false, data_dir: dataDirectory };
    if (!names.includes('aops.db')) throw new UsageError(`${dataDirectory} is not an aops data directory; nothing was deleted.`);
    // Another service is using the data.
    const owner = await owningService(dataDirectory);
    if (owner !== undefined && owner.instance_id !== running?.instance_id) throw servedElsewhere(owner);
    await confirm(context, `Delete all agents, runs, and files in ${dataDirectory}?`);
    if (running?.data_dir === dataDirectory) await stopService(context, running);
    await refuseLocked(context, dataDirectory);
    await removeOwn(dataDirectory, ownName);
    for (const [name, own] of Object.entries(ownFolders)) {
      const folder = path.join(dataDirectory, name);
      await removeOwn(folder, own);
      // Fails if the folder contains other files or does not exist.
      await rmdir(folder).catch(() => undefined);
    }
    const remaining = await readdir(dataDirectory);
    if (remaining.length === 0) await rmdir(dataDirectory);
    else context.terminal.note(`Other files in ${dataDirectory} were kept, such as ${remaining[0]}.`);
    return { deleted: true, data_dir: dataDirectory };
  },
});

async function removeOwn(folder: string, own: RegExp): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (own.test(name)) await removeTree(path.join(folder, name));
}

/** Errors that prevent deleting the data. */
const refusals = ['data_directory_in_use', 'data_directory_foreign'];

/** Detects services that do not respond, and databases that are not from aops. @throws AopsError `data_directory_in_use`, `data_directory_foreign` */
async function refuseLocked(context: Context, dataDirectory: string): Promise<void> {
  const { holdStopped } = await import('../../service/backup/index.ts');
  try {
    const held = await holdStopped(dataDirectory, context.clock.now());
    await held.release();
  } catch (error) {
    // Damaged data can be deleted.
    if (error instanceof AopsError && refusals.includes(error.code)) throw error;
  }
}

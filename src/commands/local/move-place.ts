/** The place that an export or import is about, from the flags: a data directory or a database. */
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { dataDirFlag, defaultDataDirectory, owningService, runningService } from '../../cli/connect/local-state.ts';
import type { Context } from '../../cli/kit/context.ts';
import { text } from '../../cli/kit/flags.ts';
import type { Place } from '../../service/exports/index.ts';
import { databaseOptions, databaseUrl, nodeOptions } from './database-flags.ts';

export const placeOptions = {
  ...dataDirFlag,
  ...databaseOptions,
  secretKeyFile: text(
    'FILE',
    'The key for secrets: that of the nodes, or secrets.key of the exported data directory (default: $AOPS_SECRET_KEY)',
    {
      complete: 'files',
    },
  ),
  fileStore: nodeOptions.fileStore,
} as const;

export interface PlaceInput {
  dataDir: string | undefined;
  databaseUrl: string | undefined;
  secretKeyFile: string | undefined;
  fileStore: string | undefined;
}

/**
 * A data directory that was passed takes precedence over AOPS_DATABASE_URL.
 * @throws UsageError for flags that contradict each other
 */
export async function placeOf(context: Context, input: PlaceInput): Promise<Place> {
  if (input.dataDir !== undefined && input.databaseUrl !== undefined)
    throw new UsageError('--data-dir and --database-url cannot be combined.', 'Specify the data directory or the database.');
  const url = input.dataDir === undefined ? databaseUrl(context, input) : undefined;
  if (url !== undefined) {
    const { parseFileStore } = await import('../../service/service.ts');
    const { fileStore } = input;
    return { url, files: fileStore === undefined ? undefined : parseFileStore(fileStore, { env: context.env, directory: context.cwd }) };
  }
  if (input.fileStore !== undefined)
    throw new UsageError('--file-store needs a database: pass --database-url too, or set AOPS_DATABASE_URL.');
  if (input.dataDir !== undefined) return { directory: path.resolve(context.cwd, input.dataDir) };
  return { directory: (await runningService(context))?.data_dir ?? defaultDataDirectory(context) };
}

/** @throws AopsError `data_directory_in_use` if a service that answers uses the directory */
export async function refuseRunning(place: Place, purpose: 'exported' | 'overwritten'): Promise<void> {
  if (!('directory' in place)) return;
  const service = await owningService(place.directory);
  if (service === undefined) return;
  throw new AopsError(`A service is running on ${place.directory} (process ${service.pid}), so its data cannot be ${purpose}.`, {
    code: 'data_directory_in_use',
    exit: exitCodes.conflict,
    hint:
      purpose === 'exported'
        ? 'Stop it, for example with `aops local down`, and run the command again.'
        : 'Import into another directory with --data-dir.',
  });
}

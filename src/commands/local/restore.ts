import { open } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { dataDirFlag, defaultDataDirectory, owningService } from '../../cli/connect/local-state.ts';
import { fileProblem } from '../../cli/input/body.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { BackupInfo } from '../../service/backup/index.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { formatSize } from '../../terminal/size.ts';
import { type BackupRecord, backupFields, contentsInWords } from './backup-record.ts';
import { refuseDatabase } from './database-backup.ts';
import { databaseOptions } from './database-flags.ts';

interface ReadBackup extends BackupRecord {
  file: string;
  restored: boolean;
  data_dir: string | null;
}

const updateMilliseconds = 200;

export default defineCommand({
  summary: 'Restore a backup into an empty data directory',
  description:
    'The whole backup is checked before anything is put in place; if a check fails, nothing is left behind. The checks detect damage and confine the restore to its data directory, but the service executes what a backup contains, so restore only backups that you trust. A data directory that is not empty is rejected. When you start the service, it continues from the time of the backup: unfinished runs continue, and pending deliveries are sent. Do not run it at the same time as the original. Backups of older versions are migrated at the start.',
  arguments: { file: argument('The backup, or - for stdin', { complete: 'files' }) },
  options: {
    ...dataDirFlag,
    ...databaseOptions,
    verify: flag('Only check the whole backup, without restoring it'),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops local restore aops.tar.gz && aops local up', text: 'Restore a backup on a new machine' },
    { command: 'aops local restore --verify aops.tar.gz', text: 'Check a backup' },
    { command: 'aops local restore aops.tar.gz --data-dir /var/lib/aops', text: 'Restore a backup on a server' },
  ],
  result: returns({ file: 'string', restored: 'boolean', data_dir: 'string|null', ...backupFields }),
  output: recordOutput<ReadBackup>((backup) => ({
    File: backup.file === '-' ? undefined : backup.file,
    Restored: backup.restored ? `into ${backup.data_dir}` : 'no; the backup is valid',
    Contents: contentsInWords(backup),
    Taken: time(backup.created_at),
    Version: `${backup.version}, schema ${backup.schema}`,
  })),
  async run(context, input): Promise<ReadBackup> {
    if (!input.verify) refuseDatabase(context, input, 'restored');
    const dataDirectory = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
    const file = input.file === '-' ? '-' : path.resolve(context.cwd, input.file);
    if (!input.verify) await refuseRunning(dataDirectory);
    const { newReadProgress, readBackup, restoreBackup } = await import('../../service/backup/index.ts');
    const source = await openSource(context, file);
    const progress = newReadProgress();
    const spinner = startSpinner(context.terminal, 'Reading the backup', context.clock);
    const chunks = withProgress(source.chunks, context, () =>
      spinner.update(`${input.verify ? 'Checking' : 'Restoring'}: ${pluralize(progress.files, 'file')}, ${formatSize(progress.bytes)}`),
    );
    try {
      const info: BackupInfo = input.verify
        ? await readBackup(chunks, undefined, progress, context.signal)
        : await restoreBackup(chunks, dataDirectory, progress, context.signal);
      const { sandboxes, files, bytes: content_bytes } = progress;
      const data_dir = input.verify ? null : dataDirectory;
      return { file, restored: !input.verify, data_dir, ...info, sandboxes, files, content_bytes };
    } finally {
      spinner.stop();
      await source.close();
    }
  },
});

/** @throws AopsError `data_directory_in_use` */
async function refuseRunning(dataDirectory: string): Promise<void> {
  const service = await owningService(dataDirectory);
  if (service === undefined) return;
  throw new AopsError(`A service is running on ${dataDirectory} (process ${service.pid}); its data is not overwritten.`, {
    code: 'data_directory_in_use',
    exit: exitCodes.conflict,
    hint: 'Restore into another directory with --data-dir, or stop the service and move its data.',
  });
}

/** Where a backup is read from. */
interface Source {
  chunks: AsyncIterable<Uint8Array>;
  /** Closes the file, even if nothing was read from it. */
  close(): Promise<void>;
}

/** @throws UsageError for a file that cannot be read */
async function openSource({ terminal }: Context, file: string): Promise<Source> {
  if (file === '-') {
    if (terminal.in.isTTY)
      throw new UsageError('A backup cannot be read from a terminal.', 'Specify a file, or pipe the backup to this command.');
    return { chunks: terminal.in.stream, close: async () => undefined };
  }
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(fileProblem(file, error), 'Check the path.', 'file_not_readable');
  });
  if ((await handle.stat()).isDirectory()) {
    await handle.close();
    throw new UsageError(`${file} is a directory.`, 'Specify a file that `aops local backup` wrote.');
  }
  return { chunks: handle.createReadStream({ highWaterMark: 1_048_576, autoClose: false }), close: () => handle.close() };
}

async function* withProgress(source: AsyncIterable<Uint8Array>, { clock }: Context, update: () => void): AsyncGenerator<Uint8Array> {
  let updatedAt = clock.now();
  for await (const chunk of source) {
    if (clock.now() - updatedAt >= updateMilliseconds) {
      updatedAt = clock.now();
      update();
    }
    yield chunk;
  }
}

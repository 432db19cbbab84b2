import path from 'node:path';
import { exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { dataDirFlag, defaultDataDirectory, runningService } from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { checkTarget } from '../../cli/kit/files.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { formatSize } from '../../terminal/size.ts';
import { type WrittenBackup, writeBackup } from './backup-file.ts';
import { backupFields, contentsInWords } from './backup-record.ts';
import { refuseDatabase } from './database-backup.ts';
import { databaseOptions } from './database-flags.ts';
import { holdDirectory } from './hold.ts';

export default defineCommand({
  summary: 'Back up the local service to a file',
  description:
    'Works whether or not the service is running, and does not interrupt it. The file is a .tar.gz with the database, the files of runs and sandboxes, and the keys. It contains all secrets of the service, so only you can read it (mode 0600). An incomplete file is never left behind. Restore it with `aops local restore`. A Postgres database (--database-url) is backed up with its own tools: the command names them.',
  arguments: { file: argument('The file to write, or - for stdout', { complete: 'files' }) },
  options: {
    ...dataDirFlag,
    ...databaseOptions,
    force: flag('Overwrite an existing file'),
  },
  operations: ['createBackupHold', 'updateBackupHold', 'deleteBackupHold'],
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops local backup aops.tar.gz', text: 'Back up the local service' },
    {
      command: 'aops local backup --data-dir /var/lib/aops /backup/aops-$(date +%F).tar.gz',
      text: 'Back up a service on a server every night',
    },
    { command: 'aops local backup - | ssh store "umask 077; cat > aops.tar.gz"', text: 'Write a backup to another machine' },
  ],
  result: returns({
    file: 'string',
    bytes: 'integer',
    data_dir: 'string',
    online: 'boolean',
    ...backupFields,
    problems: [{ path: 'string', problem: 'string' }],
  }),
  output: recordOutput<WrittenBackup>((backup) => ({
    File: `${backup.file} (${formatSize(backup.bytes)})`,
    Contents: contentsInWords(backup),
    Taken: time(backup.created_at),
    Version: `${backup.version}, schema ${backup.schema}`,
    Problems:
      backup.problems.length === 0
        ? undefined
        : `${pluralize(backup.problems.length, 'entry', 'entries')} not copied exactly; --json lists them`,
  })),
  async run(context, { file, force, dataDir, databaseUrl }): Promise<WrittenBackup | undefined> {
    refuseDatabase(context, { dataDir, databaseUrl }, 'backed up');
    const toStdout = file === '-';
    if (!toStdout) checkTarget(context, file, force);
    else if (context.terminal.out.isTTY)
      throw new UsageError('A backup cannot be printed on a terminal.', 'Specify a file, or pipe the output to another command.');
    const running = dataDir === undefined ? await runningService(context) : undefined;
    const dataDirectory = dataDir === undefined ? (running?.data_dir ?? defaultDataDirectory(context)) : path.resolve(context.cwd, dataDir);
    const held = await holdDirectory(context, dataDirectory);
    try {
      const written = await writeBackup(context, held, { file, force });
      if (!toStdout) return written;
      context.terminal.note(`Wrote ${contentsInWords(written)}.`);
      return undefined;
    } finally {
      await held.release();
    }
  },
});

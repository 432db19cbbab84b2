import path from 'node:path';
import { exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Problem } from '../../service/exports/index.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { optionalSecretKey } from './database-flags.ts';
import { placeOf, placeOptions, refuseRunning } from './move-place.ts';
import { contentsInWords, contentsOf, continuable, type MoveRecord, moveFields, showProgress } from './move-record.ts';

interface Exported extends MoveRecord {
  secret_key_file: string | null;
  problems: readonly Problem[];
}

export default defineCommand({
  summary: 'Export the data of a service to a folder',
  description:
    'Writes everything that `aops local import` needs to move a service from its data directory into a Postgres database (--database-url), or back: rows, files, and sandboxes. Nothing may run meanwhile: stop the service, or all nodes. A command that was interrupted continues when you run it again. The folder does not contain the key for secrets, but everything else in plain text, so only you can read it (mode 0700). The same data always results in the same files, whichever database it is in. Use `aops local backup` for backups.',
  arguments: { folder: argument('A new folder', { complete: 'directories' }) },
  options: {
    ...placeOptions,
    skipMissing: flag('Leave out files that are missing or damaged, and report them'),
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops local down && aops local export aops-export', text: 'Export the local service' },
    {
      command: 'aops local export aops-export --database-url postgres://aops@db.example.com/aops --secret-key-file secrets.key',
      text: 'Export the data of nodes',
    },
  ],
  result: returns({ ...moveFields, secret_key_file: 'string|null', problems: [{ path: 'string', problem: 'string' }] }),
  output: recordOutput<Exported>((exported) => ({
    Folder: exported.folder,
    From: exported.data_dir ?? exported.database ?? undefined,
    Contents: contentsInWords(exported),
    Version: `${exported.version}, schema ${exported.schema}`,
    Key: exported.secret_key_file ?? undefined,
    Problems:
      exported.problems.length === 0
        ? undefined
        : `${pluralize(exported.problems.length, 'entry', 'entries')} not exported exactly; --json lists them`,
  })),
  async run(context, input): Promise<Exported> {
    const place = await placeOf(context, input);
    if ('directory' in place && input.secretKeyFile !== undefined)
      throw new UsageError('--secret-key-file needs a database: a data directory contains its key.');
    await refuseRunning(place, 'exported');
    const key = 'directory' in place ? undefined : await optionalSecretKey(context, input);
    const { exportData, MoveProgress } = await import('../../service/exports/index.ts');
    const folder = path.resolve(context.cwd, input.folder);
    const shown = showProgress(context, (onChange) => new MoveProgress(onChange));
    try {
      const progress = shown.begin('Exporting');
      const options = { folder, key, progress, signal: context.signal, skipMissing: input.skipMissing };
      const { manifest, place: name, keyFile, problems } = await continuable(context, () => exportData(place, options));
      shown.stop();
      for (const { path: file, problem } of problems.slice(0, 5)) context.terminal.warn(sanitizeLine(`${file}: ${problem}`));
      return {
        ...{ folder, data_dir: 'directory' in place ? name : null, database: 'directory' in place ? null : name },
        ...{ ...contentsOf(manifest, progress), secret_key_file: keyFile, problems },
      };
    } finally {
      shown.stop();
    }
  },
});

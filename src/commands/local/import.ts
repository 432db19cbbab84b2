import path from 'node:path';
import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { optionalSecretKey } from './database-flags.ts';
import { placeOf, placeOptions, refuseRunning } from './move-place.ts';
import { contentsInWords, contentsOf, continuable, type MoveRecord, moveFields, showProgress } from './move-record.ts';

interface Imported extends MoveRecord {
  imported: boolean;
  continued: boolean;
}

export default defineCommand({
  summary: 'Import an export into an empty database or data directory',
  description:
    'The whole export is checked before anything is written. Data is never overwritten: the Postgres database (--database-url) must be empty, and the data directory new. A command that was interrupted continues when you run it again; until it has finished, no service starts on the data. Pass the key for secrets of the exported service, because the export does not contain it. When you start the service, it continues: unfinished runs continue, and pending deliveries are sent, so do not start the original again. Import only exports that you trust, because the service executes what they contain.',
  arguments: { folder: argument('The folder that `aops local export` wrote', { complete: 'directories' }) },
  options: {
    ...placeOptions,
    verify: flag('Only check the whole export, without importing it'),
  },
  exits: [exitCodes.conflict],
  examples: [
    {
      command: 'aops local import aops-export --database-url postgres://aops@db.example.com/aops --secret-key-file secrets.key',
      text: 'Import an export into a new Postgres database',
    },
    {
      command: 'aops local import aops-export --data-dir /var/lib/aops --secret-key-file secrets.key',
      text: 'Import it into a data directory',
    },
    { command: 'aops local import --verify aops-export', text: 'Check an export' },
  ],
  result: returns({ ...moveFields, imported: 'boolean', continued: 'boolean' }),
  output: recordOutput<Imported>((imported) => ({
    Folder: imported.folder,
    Imported: imported.imported ? `into ${imported.data_dir ?? imported.database}` : 'no; the export is valid',
    Contents: contentsInWords(imported),
    Version: `${imported.version}, schema ${imported.schema}`,
  })),
  async run(context, input): Promise<Imported> {
    const { signal, terminal } = context;
    const folder = path.resolve(context.cwd, input.folder);
    const place = input.verify ? undefined : await placeOf(context, input);
    if (place !== undefined) await refuseRunning(place, 'overwritten');
    const key = input.verify ? undefined : await optionalSecretKey(context, input);
    const { importData, MoveProgress, verifyExport } = await import('../../service/exports/index.ts');
    const shown = showProgress(context, (onChange) => new MoveProgress(onChange));
    try {
      const checked = shown.begin('Checking');
      if (place === undefined) {
        const manifest = await verifyExport({ folder, progress: checked, signal });
        return { folder, imported: false, continued: false, data_dir: null, database: null, ...contentsOf(manifest, checked) };
      }
      const progress = shown.begin('Importing');
      const {
        manifest,
        place: name,
        continued,
      } = await continuable(context, () => importData(place, { folder, key, checked, progress, signal }));
      shown.stop();
      terminal.note('Do not start the exported service again: both would continue the same runs.');
      return {
        ...{
          folder,
          imported: true,
          continued,
          data_dir: 'directory' in place ? name : null,
          database: 'directory' in place ? null : name,
        },
        ...contentsOf(manifest, checked),
      };
    } finally {
      shown.stop();
    }
  },
});

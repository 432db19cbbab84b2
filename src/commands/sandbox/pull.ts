import { defineCommand } from '../../cli/kit/command.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, pullingOperations, runPlace } from '../../cli/names/run-place.ts';
import { type PulledFile, pullFiles } from '../../cli/transfers/pull-files.ts';

export default defineCommand({
  summary: "Download files from a run's sandbox",
  description: 'A file whose name cannot be used on this system is left out and reported, and the command exits with 1.',
  arguments: {
    run: runArgument,
    path: optionalArgument('A file or folder (default: everything)'),
  },
  options: {
    to: text('DIR', 'Folder to download into (default: the current folder)', { complete: 'directories' }),
    force: flag('Overwrite existing files'),
    ...agentFlag,
  },
  operations: pullingOperations,
  examples: [
    { command: 'aops sandbox pull @latest --to out', text: 'Download all files of the newest run' },
    { command: 'aops sandbox pull RUN report.md', text: 'Download a file into the current folder' },
  ],
  result: returns({ path: 'string', file: 'string', size: 'integer' }),
  output: listOutput<PulledFile>({
    columns: [column('FILE', (file) => file.file, { shrink: true }), sizeColumn('SIZE', (file) => file.size)],
    empty: 'There are no files.',
  }),
  async run(context, input) {
    const place = await runPlace(context, input.run, input.agent);
    const { files, shortfall } = await pullFiles(context, place, input.path, input.to ?? '.', input.force);
    if (shortfall !== undefined) throw new ResultError(shortfall, wholeList(files));
    return wholeList(files);
  },
});

import { defineCommand } from '../../cli/kit/command.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, pullingOperations, runPlace } from '../../cli/names/run-place.ts';
import { type PulledFile, pullFiles } from '../../cli/transfers/pull-files.ts';

export default defineCommand({
  summary: "Download files from a run's sandbox",
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
    return wholeList(await pullFiles(context, place, input.path, input.to ?? '.', input.force));
  },
});

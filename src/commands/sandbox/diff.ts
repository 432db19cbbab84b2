import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag, optionalArgument } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, readingOperations, runPlace } from '../../cli/names/run-place.ts';
import { workspace } from '../../client/transfers/run-files.ts';
import type { View } from '../../terminal/cell.ts';
import { formatSize } from '../../terminal/size.ts';
import { compareFiles, type FileChange } from './compare-files.ts';

export default defineCommand({
  summary: "Compare a run's sandbox with a local folder",
  description:
    'Lines with - are from the local folder, lines with + from the sandbox, so the diff shows what `aops sandbox pull --force` would change. With two paths, the first is a folder in the sandbox. Symbolic links in the local folder are ignored.\n\nThe exit code is 0 whether or not there are differences; with --exit-code, it is 6 if there are.',
  arguments: {
    run: runArgument,
    path: argument('The local folder, or the folder in the sandbox if FOLDER follows', { complete: 'directories' }),
    folder: optionalArgument('The local folder, if PATH is a folder in the sandbox', { complete: 'directories' }),
  },
  options: {
    stat: flag('Show only the files that differ, with their sizes'),
    nameOnly: flag('Show only the names of the files that differ'),
    exitCode: flag('Exit with 6 if there are differences'),
    ...agentFlag,
  },
  operations: readingOperations,
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops sandbox diff @latest data', text: 'Show what the newest run changed in a copy of data' },
    { command: 'aops sandbox diff RUN /workspace/out expected --exit-code', text: 'Check the output of a run in CI' },
    { command: 'aops sandbox diff RUN data > run.patch', text: 'Save the differences as a patch' },
  ],
  result: returns({ path: 'string', change: 'added|removed|changed', size_before: 'integer|null', size_after: 'integer|null' }),
  output: listOutput<FileChange>({
    columns: [
      column('CHANGE', (file) => file.change),
      sizeColumn('BEFORE', (file) => file.size_before),
      sizeColumn('AFTER', (file) => file.size_after),
      column('PATH', (file) => file.path, { shrink: true }),
    ],
    forms: { texts: drawTexts, names: [column('PATH', (file) => file.path)] },
    empty: 'There are no differences.',
  }),
  async run(context, input) {
    if (input.stat && input.nameOnly) throw new UsageError('--stat and --name-only cannot be combined.');
    await context.client();
    const [inside, folder] = input.folder === undefined ? [workspace, input.path] : [input.path, input.folder];
    const place = await runPlace(context, input.run, input.agent);
    const form = input.stat ? 'stat' : input.nameOnly ? 'names' : 'texts';
    const changes = await compareFiles(context, place, folder, { inside, texts: form === 'texts' && forPeople(context) });
    const list = wholeList(changes);
    list.form = form;
    if (!input.exitCode || changes.length === 0) return list;
    const message = `${pluralize(changes.length, 'file differs', 'files differ')}.`;
    throw new ResultError(new AopsError(message, { code: 'files_differ', exit: exitCodes.conflict }), list);
  },
});

async function drawTexts(files: readonly FileChange[], view: View): Promise<string> {
  const { renderDiff } = await import('../../terminal/diff.ts');
  const { sanitizeLine } = await import('../../terminal/sanitize.ts');
  const parts = files.map((file) => {
    // An empty file that exists has no lines to compare.
    if (file.texts && file.texts.before !== file.texts.after) return renderDiff(file.texts, view);
    const sizes = [file.size_before, file.size_after].map((size) => (size === null ? 'nothing' : formatSize(size)));
    return `${file.change === 'changed' ? 'Differs' : file.change === 'added' ? 'Added' : 'Removed'}: ${sanitizeLine(file.path)} (${sizes.join(' to ')})\n`;
  });
  return (await Promise.all(parts)).join('');
}

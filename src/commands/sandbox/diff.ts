import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
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
  summary: "Compare a run's sandbox with a folder here",
  description:
    'Shows what the run has made of the files: - is the folder here, + is the sandbox, so it is what `aops sandbox pull --force` would change. With two paths the first is a folder of the sandbox. Links in the folder are left out.\n\nThe exit code is 0 whether there are differences or not; with --exit-code it is 6 when there are.',
  arguments: {
    run: runArgument,
    path: argument('A folder of the sandbox; alone, the folder here', { complete: 'directories' }),
    folder: optionalArgument('The folder here, after a folder of the sandbox', { complete: 'directories' }),
  },
  options: {
    stat: flag('Show only which files differ, and their sizes'),
    nameOnly: flag('Show only the names'),
    exitCode: flag('Exit 6 when there are differences'),
    ...agentFlag,
  },
  operations: readingOperations,
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops sandbox diff @latest data', text: 'What the newest run changed in a copy of data' },
    { command: 'aops sandbox diff RUN /workspace/out expected --exit-code', text: 'A check, as in CI' },
    { command: 'aops sandbox diff RUN data > run.patch', text: 'Keep it as a patch' },
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
    if (input.stat && input.nameOnly) throw new UsageError('--stat and --name-only exclude each other.');
    await context.client();
    const [inside, folder] = input.folder === undefined ? [workspace, input.path] : [input.path, input.folder];
    const place = await runPlace(context, input.run, input.agent);
    const form = input.stat ? 'stat' : input.nameOnly ? 'names' : 'texts';
    const changes = await compareFiles(context, place, folder, { inside, texts: form === 'texts' && forPeople(context) });
    const list = wholeList(changes);
    list.form = form;
    if (!input.exitCode || changes.length === 0) return list;
    const differ = changes.length === 1 ? '1 file differs' : `${changes.length} files differ`;
    throw new ResultError(new AopsError(`${differ}.`, { code: 'files_differ', exit: exitCodes.conflict }), list);
  },
});

async function drawTexts(files: readonly FileChange[], view: View): Promise<string> {
  const { renderDiff } = await import('../../terminal/diff.ts');
  const { sanitizeLine } = await import('../../terminal/sanitize.ts');
  const parts = files.map((file) => {
    // A file that is there and empty has no lines to show.
    if (file.texts && file.texts.before !== file.texts.after) return renderDiff(file.texts, view);
    const sizes = [file.size_before, file.size_after].map((size) => (size === null ? 'nothing' : formatSize(size)));
    return `${file.change === 'changed' ? 'Differs' : file.change === 'added' ? 'Added' : 'Removed'}: ${sanitizeLine(file.path)} (${sizes.join(' to ')})\n`;
  });
  return (await Promise.all(parts)).join('');
}

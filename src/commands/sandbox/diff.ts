import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, optionalArgument } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, sizeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, readingOperations, runPlace } from '../../cli/names/run-place.ts';
import { workspace } from '../../client/transfers/run-files.ts';
import type { View } from '../../terminal/cell.ts';
import { formatSize } from '../../terminal/size.ts';
import type { Column } from '../../terminal/table.ts';
import { compareFiles, type FileChange } from './compare-files.ts';
import { changesOperations, type PatchedFile, patchBytes, readRunChanges } from './repository/run-changes.ts';
import { drawPatch, noteGaps, patchedFiles, statColumns } from './repository/show.ts';

export default defineCommand({
  summary: 'Show what a run changed in its repository, or compare its sandbox with a local folder',
  description:
    'For a run that was started with --repo, and without a path, shows the differences from the commit from which the run started, whether or not the run committed them; files that git ignores are left out. In a pipe, prints the exact patch, which `git apply` accepts.\n\nWith a path, compares the sandbox with a local folder: lines with - are from the folder, lines with + from the sandbox, so the diff shows what `aops sandbox pull --force` would change. With two paths, the first is a folder in the sandbox. Symbolic links in the local folder are ignored.\n\nThe exit code is 0 whether or not there are differences; with --exit-code, it is 6 if there are.',
  arguments: {
    run: runArgument,
    path: optionalArgument('The local folder, or the folder in the sandbox if FOLDER follows', { complete: 'directories' }),
    folder: optionalArgument('The local folder, if PATH is a folder in the sandbox', { complete: 'directories' }),
  },
  options: {
    stat: flag('Show only the files that differ, with their sizes'),
    nameOnly: flag('Show only the names of the files that differ'),
    exitCode: flag('Exit with 6 if there are differences'),
    ...agentFlag,
  },
  operations: [...readingOperations, ...changesOperations],
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops sandbox diff @latest', text: 'Show what the newest run changed in its repository' },
    { command: 'aops sandbox diff RUN > run.patch', text: 'Save the changes as a patch' },
    { command: 'aops sandbox diff @latest data', text: 'Show what the newest run changed in a copy of data' },
    { command: 'aops sandbox diff RUN /workspace/out expected --exit-code', text: 'Check the output of a run in CI' },
  ],
  result: returns({
    path: 'string',
    change: 'added|removed|changed|renamed',
    size_before: 'integer|null',
    size_after: 'integer|null',
    // Only of a repository.
    old_path: 'string|null?',
    mode_before: 'string|null?',
    mode_after: 'string|null?',
    lines_added: 'integer|null?',
    lines_removed: 'integer|null?',
  }),
  output: listOutput<FileChange | PatchedFile>({
    columns: [
      column('CHANGE', (file) => file.change),
      sizeColumn('BEFORE', (file) => file.size_before),
      sizeColumn('AFTER', (file) => file.size_after),
      column('PATH', (file) => file.path, { shrink: true }),
    ],
    forms: {
      texts: (files, view) => drawTexts(files as readonly FileChange[], view),
      patch: (files, view) => drawPatch(files as readonly PatchedFile[], view),
      stat: statColumns as Column<FileChange | PatchedFile>[],
      names: [column('PATH', (file) => file.path)],
    },
    empty: 'There are no differences.',
  }),
  async run(context, input) {
    if (input.stat && input.nameOnly) throw new UsageError('--stat and --name-only cannot be combined.');
    await context.client();
    return input.path === undefined ? ofRepository(context, input) : withFolder(context, input, input.path);
  },
});

type Input = { run: string; folder?: string | undefined; agent?: string | undefined; stat: boolean; nameOnly: boolean; exitCode: boolean };

async function withFolder(context: Context, input: Input, path: string) {
  const [inside, folder] = input.folder === undefined ? [workspace, path] : [path, input.folder];
  const place = await runPlace(context, input.run, input.agent);
  const texts = !input.stat && !input.nameOnly;
  const changes = await compareFiles(context, place, folder, { inside, texts: texts && forPeople(context) });
  const list = wholeList<FileChange>(changes);
  list.form = texts ? 'texts' : input.nameOnly ? 'names' : undefined;
  if (!input.exitCode || changes.length === 0) return list;
  throw new ResultError(differing(changes.length), list);
}

async function ofRepository(context: Context, input: Input) {
  const advice = 'Specify a local folder to compare its sandbox with: aops sandbox diff RUN FOLDER.';
  const { changes } = await readRunChanges(context, input.run, { agent: input.agent, advice });
  noteGaps(context, changes);
  const wantsPatch = !input.stat && !input.nameOnly;
  if (wantsPatch && forPeople(context) && !context.terminal.out.isTTY) {
    for await (const chunk of patchBytes(context, changes)) await context.terminal.bytes(chunk);
    if (input.exitCode && changes.total_files > 0) throw differing(changes.total_files);
    return undefined;
  }
  const list = wholeList<PatchedFile>(await patchedFiles(context, changes, wantsPatch));
  list.form = wantsPatch ? 'patch' : input.nameOnly ? 'names' : 'stat';
  if (!input.exitCode || changes.total_files === 0) return list;
  throw new ResultError(differing(changes.total_files), list);
}

const differing = (count: number): AopsError =>
  new AopsError(`${pluralize(count, 'file differs', 'files differ')}.`, { code: 'files_differ', exit: exitCodes.conflict });

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

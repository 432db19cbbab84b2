/** Downloads the files of a run. */
import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { wordList } from '../../base/word-list.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import type { NameProblem } from '../../client/transfers/local-names.ts';
import { openArchive } from '../../client/transfers/pull-archive.ts';
import { pullTree } from '../../client/transfers/pull-tree.ts';
import { listRunTree, type RunPlace, readRunFile, type TreeFile, workspace } from '../../client/transfers/run-files.ts';
import { startTransferProgress } from '../../terminal/transfer-progress.ts';
import type { Context } from '../kit/context.ts';

export interface PulledFile {
  /** Path in the sandbox. */
  path: string;
  /** The local file, relative to the current folder. */
  file: string;
  size: number;
}

export interface PulledFiles {
  files: PulledFile[];
  /** What to report if some files could not be written under their names. */
  shortfall: AopsError | undefined;
}

/**
 * Downloads a file, or a folder with everything in it, into a local folder.
 * @throws UsageError when a file already exists and `force` is false, before anything is written
 */
export async function pullFiles(
  context: Context,
  run: RunPlace,
  from: string | undefined,
  to: string,
  force: boolean,
): Promise<PulledFiles> {
  const { signal, cwd } = context;
  const client = await context.client();
  const progress = startTransferProgress(context.terminal, 'Downloading', context.clock);
  const { state } = progress;
  try {
    const start = path.posix.resolve(workspace, from ?? '.');
    const archive = await openArchive(client, run, start, signal);
    const { base, files } = archive ?? (await listFiles(context, run, start));
    state.totalBytes = files.reduce((sum, { size }) => sum + size, 0);
    state.totalFiles = files.length;
    const pulled = await pullTree(client, {
      run,
      files,
      ...(archive === undefined ? {} : { received: archive.received }),
      base,
      folder: new LocalFolder(path.resolve(cwd, to)),
      replace: force,
      signal,
      onBytes: (count) => {
        state.bytes += count;
      },
      onFile: () => {
        state.files += 1;
      },
    });
    const written = pulled.files.map(({ path: runPath, target, size }) => ({
      path: runPath,
      file: path.relative(cwd, target) || target,
      size,
    }));
    return { files: written, shortfall: shortfallOf(pulled.skipped, files.length) };
  } finally {
    progress.stop();
  }
}

/** The code of the error that reports files that were left out. */
export const namesNotUsable = 'names_not_usable';
/** How many files the report names. */
const maxNamed = 5;

function shortfallOf(skipped: readonly NameProblem[], total: number): AopsError | undefined {
  if (skipped.length === 0) return undefined;
  const named = skipped.slice(0, maxNamed).map(({ name, reason }) => `${JSON.stringify(name)} (${reason})`);
  const list = wordList(skipped.length > maxNamed ? [...named, `${skipped.length - maxNamed} more`] : named, 'and');
  const cause = skipped.length === 1 ? 'was not written because of its name' : 'were not written because of their names';
  return new AopsError(`${skipped.length} of ${pluralize(total, 'file')} ${cause}: ${list}.`, {
    code: namesNotUsable,
    exit: exitCodes.failure,
    hint: 'Save such a file under a name of your choice: `aops sandbox cat RUN PATH > FILE`.',
  });
}

/** The files below a path in the sandbox, or the file at that path. */
async function listFiles(context: Context, run: RunPlace, start: string): Promise<{ base: string; files: readonly TreeFile[] }> {
  const client = await context.client();
  try {
    return await listRunTree(client, run, start, context.signal);
  } catch (error) {
    // Services report in various ways that a file cannot be listed. If it can be read, it is the file to pull.
    if (!(error instanceof ServiceAnswerError) || ![400, 404, 409, 422].includes(error.status)) throw error;
    const content = await readRunFile(client, run, start, context.signal).catch(() => {
      context.signal.throwIfAborted();
      throw error;
    });
    const { path: file, size } = content;
    return { base: path.posix.dirname(file), files: [{ path: file, size, content }] };
  }
}

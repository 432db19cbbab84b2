/** Downloads the files of a run's sandbox into a local folder: all are checked before the first is written, then fetched concurrently. */
import path from 'node:path';
import { AopsError } from '../../base/errors.ts';
import type { Client } from '../client.ts';
import { incomplete } from './incomplete.ts';
import { type Content, type LocalFolder, type StagedFile, withByteCount } from './local-files.ts';
import { type NameProblem, unusableNames } from './local-names.ts';
import { inParallel } from './parallel.ts';
import type { ReceivedFile } from './pull-archive.ts';
import { parallelTransfers, type RunPlace, readRunFile, runFileBytes, type TreeFile } from './run-files.ts';

export interface Pull {
  run: RunPlace;
  files: readonly TreeFile[];
  /** The files as they arrive in an archive; those that are missing from it are requested one by one. */
  received?: AsyncGenerator<ReceivedFile, void, undefined>;
  /** The folder in the sandbox to which the local names are relative. */
  base: string;
  folder: LocalFolder;
  /** Whether existing files may be replaced. */
  replace: boolean;
  signal: AbortSignal;
  /** Called with the number of received bytes; negative when some have to be received again. */
  onBytes?: (count: number) => void;
  onFile?: () => void;
}

export interface PulledTree {
  files: PulledTreeFile[];
  /** Files that cannot be written under their names, with their paths in the sandbox. */
  skipped: NameProblem[];
}

export interface PulledTreeFile {
  /** Path in the sandbox. */
  path: string;
  /** Local path. */
  target: string;
  size: number;
}

const nextStep = 'To get all of them, run the command again with --force, or into a new folder.';

/** How many files are synced together, and how many bytes at most before the last of them. */
const maxGroupFiles = 1_000;
const maxGroupBytes = 8 * 1_048_576;

/** How many times a file that changes during the download is requested. */
const attemptsOfChangingFile = 3;

/**
 * Writes all files whose names can be used on this system.
 * @throws AopsError `unsafe_name`, `clashing_names`, `too_many_files` or UsageError `file_exists` before anything is written;
 *   later errors report how many files were written
 */
export async function pullTree(client: Client, pull: Pull): Promise<PulledTree> {
  const { folder, replace, signal } = pull;
  const nameOf = (file: Pick<TreeFile, 'path'>): string => relativeName(pull.base, file.path);
  let doneFiles = 0;
  const onFile = (): void => {
    doneFiles += 1;
    pull.onFile?.();
  };
  let hasBegun = false;
  let { files } = pull;
  try {
    const reasons = reasonsToSkip(files.map(nameOf), folder);
    const skipped = files.flatMap((file) => {
      const reason = reasons.get(nameOf(file));
      return reason === undefined ? [] : [{ name: file.path, reason }];
    });
    files = files.filter((file) => !reasons.has(nameOf(file)));
    folder.checkAll(files.map(nameOf), replace);
    hasBegun = true;
    const sizes =
      pull.received === undefined ? new Map<string, number>() : await placeReceived({ ...pull, files }, pull.received, nameOf, onFile);
    const missingFiles = files.filter((file) => !sizes.has(file.path));
    await inParallel(missingFiles, parallelTransfers, signal, async (file, fileSignal) => {
      sizes.set(file.path, await pullFile(client, pull, file, nameOf(file), fileSignal));
      onFile();
    });
    const written = files.map((file) => ({ path: file.path, target: folder.target(nameOf(file)), size: sizes.get(file.path) as number }));
    return { files: written, skipped };
  } catch (error) {
    if (!hasBegun || signal.aborted || files.length === 1 || !(error instanceof AopsError)) throw error;
    throw incomplete(error, `${doneFiles} of ${files.length} files are in ${folder.path}.`, nextStep);
  } finally {
    await pull.received?.return();
  }
}

/** Why some names cannot be used in the folder. */
const reasonsToSkip = (names: readonly string[], folder: LocalFolder): ReadonlyMap<string, string> =>
  new Map(unusableNames(names, (name, otherName) => folder.distinguishes(name, otherName)).map(({ name, reason }) => [name, reason]));

/**
 * Writes the files that arrive, in groups that are synced together while the next group arrives. Returns their sizes by their paths.
 */
async function placeReceived(
  { files, folder, replace, signal, onBytes }: Pull,
  received: AsyncGenerator<ReceivedFile, void, undefined>,
  nameOf: (file: Pick<TreeFile, 'path'>) => string,
  onFile: () => void,
): Promise<Map<string, number>> {
  const expectedPaths = new Set(files.map((file) => file.path));
  const sizes = new Map<string, number>();
  let group: StagedFile[] = [];
  let groupBytes = 0;
  let placing: Promise<void> = Promise.resolve();
  const placeGroup = async (): Promise<void> => {
    const complete = group;
    group = [];
    groupBytes = 0;
    try {
      await placing;
    } catch (error) {
      for (const { partial } of complete) partial.discard();
      throw error;
    }
    placing = folder.place(complete, signal, onFile);
    // Its failure is thrown by whoever waits for it next.
    placing.catch(() => undefined);
  };
  try {
    for await (const file of received) {
      // A file that nobody asked for, or that has arrived before.
      if (!expectedPaths.delete(file.path)) continue;
      group.push(await folder.stage(nameOf(file), file.content, replace));
      sizes.set(file.path, file.size);
      onBytes?.(file.size);
      groupBytes += file.size;
      if (group.length >= maxGroupFiles || groupBytes >= maxGroupBytes) await placeGroup();
    }
    await placeGroup();
    await placing;
  } catch (error) {
    // What has arrived need not be sent again. If this fails as well, the first error says why.
    if (!signal.aborted) await placeGroup().catch(() => undefined);
    for (const { partial } of group) partial.discard();
    await placing.catch(() => undefined);
    throw error;
  }
  return sizes;
}

/** The relative name, unchanged: `..` and other oddities are found by the check of the names. */
function relativeName(base: string, file: string): string {
  const start = base.endsWith('/') ? base : `${base}/`;
  return file.startsWith(start) ? file.slice(start.length) : path.posix.relative(base, file);
}

async function pullFile(client: Client, pull: Pull, file: TreeFile, name: string, signal: AbortSignal): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const openContent = () => readRunFile(client, pull.run, file.path, signal);
    const content = attempt === 1 && file.content !== undefined ? file.content : await openContent();
    const renew = async (): Promise<string> => (await openContent()).download_url ?? '';
    const bytes: Content = (restart) => runFileBytes(client, content, { signal, renew, restart });
    try {
      return await pull.folder.write(name, withByteCount(bytes, pull.onBytes ?? (() => undefined)), { replace: pull.replace, signal });
    } catch (error) {
      if (!(error instanceof AopsError && error.code === 'file_changed') || attempt === attemptsOfChangingFile) throw error;
    }
  }
}

/** Downloads the files of a run's sandbox into a local folder: all are checked before the first is written, then fetched concurrently. */
import path from 'node:path';
import { AopsError } from '../../base/errors.ts';
import type { Client } from '../client.ts';
import { incomplete } from './incomplete.ts';
import { type Content, type LocalFolder, withByteCount } from './local-files.ts';
import { checkNames } from './local-names.ts';
import { inParallel } from './parallel.ts';
import { parallelTransfers, type RunPlace, readRunFile, runFileBytes, type TreeFile } from './run-files.ts';

export interface Pull {
  run: RunPlace;
  files: readonly TreeFile[];
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

export interface PulledTreeFile {
  /** Path in the sandbox. */
  path: string;
  /** Local path. */
  target: string;
  size: number;
}

const nextStep = 'To get all of them, run the command again with --force, or into a new folder.';

/** How many times a file that changes during the download is requested. */
const attemptsOfChangingFile = 3;

/**
 * @throws AopsError `unsafe_name`, `clashing_names`, `too_many_files` or UsageError `file_exists` before anything is written;
 *   later errors report how many files were written
 */
export async function pullTree(client: Client, pull: Pull): Promise<PulledTreeFile[]> {
  const { files, folder, replace, signal, onFile } = pull;
  const nameOf = (file: TreeFile): string => relativeName(pull.base, file.path);
  checkNames(files.map(nameOf));
  for (const file of files) folder.check(nameOf(file), replace);
  let doneFiles = 0;
  try {
    return await inParallel(files, parallelTransfers, signal, async (file, fileSignal) => {
      const size = await pullFile(client, pull, file, nameOf(file), fileSignal);
      doneFiles += 1;
      onFile?.();
      return { path: file.path, target: folder.target(nameOf(file)), size };
    });
  } catch (error) {
    if (signal.aborted || files.length === 1 || !(error instanceof AopsError)) throw error;
    throw incomplete(error, `${doneFiles} of ${files.length} files are in ${folder.path}.`, nextStep);
  }
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

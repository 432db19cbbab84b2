/** Uploads local files and folders into a sandbox. */
import { accessSync, constants, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, UsageError } from '../../base/errors.ts';
import { incomplete } from '../../client/transfers/incomplete.ts';
import { workspace } from '../../client/transfers/run-files.ts';
import type { LocalUpload, UploadedFile } from '../../client/transfers/transfer.ts';
import { uploadTree } from '../../client/transfers/upload-tree.ts';
import { startTransferProgress } from '../../terminal/transfer-progress.ts';
import { fileProblem } from '../input/body.ts';
import { folderEntries } from '../input/folder-entries.ts';
import type { Context } from '../kit/context.ts';

/**
 * The files at the specified paths: a file itself, or a folder with everything in it (links are skipped, with a note). They are
 * checked before anything is sent, so that an invalid path changes nothing.
 * @throws UsageError for a path that does not exist or cannot be read, or for two files with the same target
 */
export async function collectFiles(context: Context, paths: readonly string[], targetFolder = workspace): Promise<LocalUpload[]> {
  const files: LocalUpload[] = [];
  const skippedNames: string[] = [];
  for (const source of paths) {
    const file = path.resolve(context.cwd, source);
    const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(fileProblem(source, error));
    });
    const target = path.posix.join(targetFolder, path.basename(file));
    if (stats.isDirectory()) files.push(...(await filesBelow(file, { target, skippedNames, cwd: context.cwd })));
    else if (stats.isFile()) files.push({ file, size: stats.size, target });
    else throw new UsageError(`${source} is neither a file nor a folder.`, 'Save its content to a file, and upload that.');
  }
  for (const { file } of files) {
    try {
      // Thousands of calls through threads would take several times as long as the calls themselves.
      accessSync(file, constants.R_OK);
    } catch (error) {
      throw new UsageError(fileProblem(path.relative(context.cwd, file), error as NodeJS.ErrnoException));
    }
  }
  const targets = new Set<string>();
  for (const { target } of files) {
    if (targets.has(target))
      throw new UsageError(
        `Two of the files would be uploaded to ${target}.`,
        'Push them one after another with different values for --to.',
      );
    targets.add(target);
  }
  if (skippedNames.length > 0) {
    const names = skippedNames.slice(0, 3).map((file) => path.relative(context.cwd, file));
    const omissionNote = skippedNames.length > names.length ? ` and ${skippedNames.length - names.length} more` : '';
    context.terminal.note(`Only files and folders can be uploaded, so these were skipped: ${names.join(', ')}${omissionNote}`);
  }
  return files;
}

/**
 * The files in a folder and its subfolders, sorted by name.
 * @param options.target the path of the folder in the sandbox
 * @param options.skippedNames receives the links and special files that are skipped
 * @throws UsageError for a folder that cannot be read
 */
export async function filesBelow(folder: string, options: { target: string; skippedNames: string[]; cwd: string }): Promise<LocalUpload[]> {
  const uploads = await Promise.all(
    (await folderEntries(folder, options.cwd)).map(async (entry): Promise<LocalUpload[]> => {
      const file = path.join(folder, entry.name);
      const target = path.posix.join(options.target, entry.name);
      if (entry.isDirectory()) return filesBelow(file, { ...options, target });
      if (entry.isFile()) return [{ file, size: statSync(file).size, target }];
      options.skippedNames.push(file);
      return [];
    }),
  );
  return uploads.flat();
}

/**
 * Uploads files, several at a time, showing the progress.
 * @throws what `uploadTree` throws
 */
export async function uploadFiles(context: Context, sandboxId: string, files: readonly LocalUpload[]): Promise<UploadedFile[]> {
  const client = await context.client();
  const progress = startTransferProgress(context.terminal, 'Uploading', context.clock);
  const { state } = progress;
  state.totalFiles = files.length;
  state.totalBytes = files.reduce((sum, { size }) => sum + size, 0);
  try {
    return await uploadTree(client, sandboxId, files, {
      signal: context.signal,
      dryRun: context.flags.dryRun === true,
      onBytes: (count) => {
        state.bytes += count;
      },
      onFiles: (count) => {
        state.files += count;
      },
    });
  } catch (error) {
    if (context.signal.aborted || files.length === 1 || !(error instanceof AopsError)) throw error;
    const nextStep = error.code === 'outcome_unknown' ? 'This sends all files again.' : 'Run the command again to upload all of them.';
    throw incomplete(error, `${state.files} of ${files.length} files were uploaded.`, nextStep);
  } finally {
    progress.stop();
  }
}

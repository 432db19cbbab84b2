/** Files and folders of this machine on their way into a sandbox. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { workspace } from '../../client/run-files.ts';
import { upload } from '../../client/transfer.ts';
import { fileProblem } from '../body.ts';
import type { Context } from '../context.ts';

export interface LocalFile {
  file: string;
  /** Path in the sandbox. */
  target: string;
}

/**
 * The files that the given paths name: a file itself, a folder with everything in it (links are left out). Checked
 * before anything is sent, so that a wrong path changes nothing.
 * @throws UsageError for a path that is not there, or two files with one target
 */
export async function collectFiles(context: Context, paths: readonly string[], to = workspace): Promise<LocalFile[]> {
  const files: LocalFile[] = [];
  for (const given of paths) {
    const file = path.resolve(context.cwd, given);
    const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(fileProblem(given, error));
    });
    const target = path.posix.join(to, path.basename(file));
    if (found.isDirectory()) files.push(...(await filesBelow(file, target)));
    else files.push({ file, target });
  }
  const targets = new Set<string>();
  for (const { target } of files) {
    if (targets.has(target))
      throw new UsageError(`Two of the files would become ${target}.`, 'Push them one after another with different --to.');
    targets.add(target);
  }
  return files;
}

async function filesBelow(folder: string, target: string): Promise<LocalFile[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((entry): Promise<LocalFile[]> | LocalFile[] => {
        const file = path.join(folder, entry.name);
        const inside = path.posix.join(target, entry.name);
        if (entry.isDirectory()) return filesBelow(file, inside);
        return entry.isFile() ? [{ file, target: inside }] : [];
      }),
  );
  return found.flat();
}

/** Uploads files one after another, saying so. */
export async function uploadFiles(
  context: Context,
  sandboxId: string,
  files: readonly LocalFile[],
): Promise<{ path: string; size_bytes: number }[]> {
  const client = await context.client();
  const uploaded: { path: string; size_bytes: number }[] = [];
  for (const { file, target } of files) uploaded.push(await upload(client, sandboxId, file, target, context.signal));
  return uploaded;
}

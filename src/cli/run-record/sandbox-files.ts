/** The files in the sandbox of a run, with the SHA-256 hash of each as far as the limits permit. */

import { crypto } from '../../base/crypto.ts';
import type { Client } from '../../client/client.ts';
import { inParallel } from '../../client/transfers/parallel.ts';
import { listRunTree, parallelTransfers, readRunFile, runFileBytes, type TreeFile, workspace } from '../../client/transfers/run-files.ts';
import { readOrNoteGap } from './gaps.ts';

export interface FileRecord {
  path: string;
  /** Bytes. */
  size: number;
  /** In hexadecimal digits; null if the file was not read. */
  sha256: string | null;
}

/** A file is read once to hash it, so their number and their sizes in bytes are limited. */
export const hashLimits = { files: 500, fileBytes: 64 * 1024 * 1024, totalBytes: 256 * 1024 * 1024 };

export const fileOperations = ['listRunSandboxFiles', 'getRunSandboxFileContent'] as const;

/**
 * All files below /workspace by path. Files disappear with their sandbox, and some cannot be read; that is part of the record, and not an error.
 * @param gaps receives sentences about what could not be read
 */
export async function readFiles(
  client: Client,
  runId: string,
  { signal, gaps, limits = hashLimits }: { signal: AbortSignal; gaps: string[]; limits?: typeof hashLimits },
): Promise<FileRecord[]> {
  const place = { runId };
  const tree = await readOrNoteGap(gaps, () => listRunTree(client, place, workspace, signal));
  const files = (tree?.files ?? []).sort((a, b) => (a.path < b.path ? -1 : 1));
  const hashedFiles = new Set(filesWithin(files, limits));
  const records = await inParallel(files, parallelTransfers, signal, async (file, fileSignal) => {
    const { path, size } = file;
    if (!hashedFiles.has(file)) return { path, size, sha256: null };
    const sha256 = await readOrNoteGap(gaps, async () => {
      let hash = crypto().createHash('sha256');
      const restart = async (): Promise<void> => {
        hash = crypto().createHash('sha256');
      };
      const content = await readRunFile(client, place, path, fileSignal);
      for await (const chunk of runFileBytes(client, content, { signal: fileSignal, restart })) hash.update(chunk);
      return hash.digest('hex');
    });
    return { path, size, sha256: sha256 ?? null };
  });
  const skippedCount = files.length - hashedFiles.size;
  if (skippedCount > 0)
    gaps.push(`${skippedCount} of ${files.length} files are listed without a hash, because there are many or they are large.`);
  return records;
}

function filesWithin(files: readonly TreeFile[], limits: typeof hashLimits): TreeFile[] {
  let remainingBytes = limits.totalBytes;
  return files
    .filter(({ size }) => {
      if (size > limits.fileBytes || size > remainingBytes) return false;
      remainingBytes -= size;
      return true;
    })
    .slice(0, limits.files);
}

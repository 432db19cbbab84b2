/** Uploads many files: small ones together, in archives, if the service offers that; otherwise, and large ones, one by one. */
import path from 'node:path';
import { Slots } from '../../base/slots.ts';
import type { Client } from '../client.ts';
import { NotOfferedError, ServiceAnswerError } from '../errors.ts';
import { inParallel } from './parallel.ts';
import { workspace } from './run-files.ts';
import { directUploadLimit, type LocalUpload, prepareUpload, type UploadedFile } from './transfer.ts';
import { archiveGroups, prepareArchive } from './upload-archive.ts';

/** From this number of small files on, archives are used. */
const minArchiveFiles = 5;

/** Number of concurrent uploads; a direct upload takes up to 10 MB of memory. */
const parallelUploads = 4;

/** Number of concurrent archives: while the service writes the files of some, the next is packed. Each is in memory. */
const parallelArchives = 3;

export interface TreeUpload {
  signal: AbortSignal;
  /** Called with the number of sent bytes; negative when some have to be sent again. */
  onBytes: (count: number) => void;
  /** Called with the number of files that were uploaded. */
  onFiles: (count: number) => void;
  /** Whether nothing is sent, and only the first request is shown. */
  dryRun: boolean;
}

/**
 * Uploads the files, in the order of their results.
 * @throws what `prepareUpload` throws; after the first upload that failed no other is started
 */
export async function uploadTree(
  client: Client,
  sandboxId: string,
  files: readonly LocalUpload[],
  options: TreeUpload,
): Promise<UploadedFile[]> {
  const { signal, onBytes, onFiles, dryRun } = options;
  const results = new Map<LocalUpload, UploadedFile>();
  const parallel = dryRun ? 1 : parallelUploads;
  // Keys are reserved in the order of the files, so that the same command sends each file under the same key again.
  const single = (file: LocalUpload) => {
    const upload = prepareUpload(client, sandboxId, file);
    return async (taskSignal: AbortSignal): Promise<void> => {
      results.set(file, await upload({ signal: taskSignal, onBytes }));
      onFiles(1);
    };
  };
  const singly = async (remaining: readonly LocalUpload[]): Promise<void> => {
    await inParallel(remaining.map(single), parallel, signal, (upload, taskSignal) => upload(taskSignal));
  };
  const smallFiles = files.filter(({ size }) => size <= directUploadLimit);
  if (smallFiles.length >= minArchiveFiles) {
    /** Groups whose archive was refused: too large for something in front of the service, or not offered. */
    const refusedGroups = new Set<readonly LocalUpload[]>();
    const packing = new Slots(1);
    const archive = (group: readonly LocalUpload[]) => {
      const upload = prepareArchive(client, sandboxId, group, packing);
      return async (taskSignal: AbortSignal): Promise<void> => {
        try {
          await upload({ signal: taskSignal });
        } catch (error) {
          if (!(error instanceof NotOfferedError) && !(error instanceof ServiceAnswerError && error.status === 413)) throw error;
          refusedGroups.add(group);
          return;
        }
        for (const file of group) results.set(file, { path: path.posix.resolve(workspace, file.target), size_bytes: file.size });
        onFiles(group.length);
        onBytes(group.reduce((sum, { size }) => sum + size, 0));
      };
    };
    const groups = archiveGroups(smallFiles);
    const [first, ...others] = groups.map(archive);
    await first?.(signal);
    if (refusedGroups.size === 0)
      await inParallel(others, Math.min(parallel, parallelArchives), signal, (upload, taskSignal) => upload(taskSignal));
  }
  await singly(files.filter((file) => !results.has(file)));
  return files.map((file) => results.get(file) as UploadedFile);
}

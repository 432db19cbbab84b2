/**
 * Uploads many small files with one request: as a tar archive, which is an extension of the interface. An archive is small enough to be
 * in memory, so it is a change like any other: each attempt sends the same bytes under the same key.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Slots } from '../../base/slots.ts';
import { operation } from '../../interface/operations.ts';
import { checkAnswer } from '../answers.ts';
import type { Client } from '../client.ts';
import { toNotOfferedError, UnusableAnswerError } from '../errors.ts';
import { fillPath } from '../request.ts';
import { readJson } from '../response.ts';
import { changedFile, type LocalUpload, type UploadOptions } from './transfer.ts';

/** Maximum size of an archive, in bytes. A larger file has an archive of its own. */
const maxArchiveBytes = 4_000_000;

/** Milliseconds that one attempt may take: many files have to be written and synced before the service answers. */
const attemptMilliseconds = 120_000;

/** About the bytes that an archive contains in addition to the content of a file. */
const headBytes = 1_800;

/** Files that are read before other work gets its turn. */
const filesPerTurn = 64;

/**
 * The files in groups, one for each archive. The first one contains only the smallest file: a service that does not offer the operation
 * receives nothing else in vain.
 */
export function archiveGroups(files: readonly LocalUpload[]): LocalUpload[][] {
  const smallest = files.reduce((best, file) => (file.size < best.size ? file : best), files[0] as LocalUpload);
  const groups: LocalUpload[][] = [[smallest]];
  let size = Number.POSITIVE_INFINITY;
  for (const file of files) {
    if (file === smallest) continue;
    const group = groups.at(-1) as LocalUpload[];
    size += file.size + headBytes;
    if (size <= maxArchiveBytes) group.push(file);
    else {
      groups.push([file]);
      size = file.size + headBytes;
    }
  }
  return groups;
}

/**
 * Prepares the upload of a group of files. Its idempotency key is reserved here, as `prepareUpload` does. The returned function carries
 * it out.
 * @param packing one slot for all archives: packed at the same time, all of them would be ready late, and the service would wait
 * @throws UsageError for an invalid ID; the function throws NotOfferedError, ServiceAnswerError, UnavailableError, OutcomeUnknownError,
 *   UsageError when a file changes meanwhile, or the signal's reason
 */
export function prepareArchive(
  client: Client,
  sandboxId: string,
  files: readonly LocalUpload[],
  packing: Slots,
): (options: Pick<UploadOptions, 'signal'>) => Promise<void> {
  const { method, path: template, request: type = '' } = operation('uploadSandboxArchive');
  const path = fillPath(template, { sandbox_id: sandboxId });
  const keys = client.reserveKeys(method, path);
  return async ({ signal }) => {
    const body = await packing.run(() => archiveOf(files, signal));
    const request = { method, path, headers: { 'content-type': type }, body, mutates: true, attemptMilliseconds };
    const response = await client.send(request, { signal, keys }).catch((error: unknown) => {
      throw toNotOfferedError('uploadSandboxArchive', error);
    });
    const details = { status: response.status, method, path };
    const answer = checkAnswer('uploadSandboxArchive', readJson(response), details);
    if (answer.files !== files.length || answer.size_bytes !== files.reduce((sum, { size }) => sum + size, 0))
      throw new UnusableAnswerError(details, `the right "${answer.files === files.length ? 'size_bytes' : 'files'}"`);
  };
}

/** The archive of the files. */
async function archiveOf(files: readonly LocalUpload[], signal: AbortSignal): Promise<Buffer> {
  // Commands that only may send files start without the library.
  const { TarFileWriter } = await import('../../base/tar/tar-files.ts');
  const tar = new TarFileWriter();
  const chunks: Buffer[] = [];
  try {
    for (const [index, { file, size, target }] of files.entries()) {
      if (index % filesPerTurn === filesPerTurn - 1) await setImmediate();
      signal.throwIfAborted();
      const content = readNow(file, size);
      const sha256 = createHash('sha256').update(content).digest('hex');
      for await (const chunk of tar.add({ path: target, size, sha256 }, [content])) chunks.push(chunk);
    }
    for await (const chunk of tar.end()) chunks.push(chunk);
  } finally {
    tar.close();
  }
  return Buffer.concat(chunks);
}

/** The content of a file, which must have exactly this size. Reading a small file in a thread would take several times as long. */
function readNow(file: string, size: number): Buffer {
  const buffer = Buffer.allocUnsafe(size);
  const descriptor = fs.openSync(file, 'r');
  try {
    let length = 0;
    while (length < buffer.length) {
      const count = fs.readSync(descriptor, buffer, length, buffer.length - length, length);
      if (count === 0) break;
      length += count;
    }
    if (length !== buffer.length || fs.fstatSync(descriptor).size !== length) throw changedFile(file);
    return buffer;
  } finally {
    fs.closeSync(descriptor);
  }
}

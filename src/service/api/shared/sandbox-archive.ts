/** Many files of a sandbox in one request: a tar archive that is written to it, or created from it. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { InvalidArchiveError } from '../../../base/tar/tar-entry.ts';
import type { ReadFile } from '../../../base/tar/tar-files.ts';
import { ServiceError } from '../../errors.ts';
import { MediaReply, type RequestContext } from '../../http/context.ts';
import type { ReceivedFile } from '../../http/received-file.ts';
import { archiveBytes } from '../../sandbox/archive.ts';
import { invalidPath, namesOf, publicPath, workspace } from '../../sandbox/paths.ts';
import type { NewFile } from '../../sandbox/write-files.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { hiddenFiles, inSandbox } from './run-sandbox.ts';

/** Maximum number of files of an archive that is written. */
const maxFiles = 10_000;
/** Maximum size of a file of an archive that is written, in bytes. */
export const maxFileBytes = 10 * 1024 * 1024;

/**
 * Writes the files of an archive to a sandbox. They are checked while they are received; none appears before all of them have been.
 * Throws 400 `invalid_archive`, 413 `file_too_large`, and what writing a file throws.
 */
export async function unpackArchive(
  { engine }: RequestContext,
  sandboxId: string,
  archive: ReceivedFile,
): Promise<{ files: number; size_bytes: number }> {
  const { readTarFiles } = await import('../../../base/tar/tar-files.ts');
  const total = { files: 0, size_bytes: 0 };
  try {
    await engine.workspaces.writeAll(engine.store, sandboxId, checkedFiles(readTarFiles(archive), total));
    return total;
  } catch (error) {
    throw error instanceof InvalidArchiveError ? invalidArchive(error.message) : error;
  }
}

/** The files, whose content fails at its end if it does not match the checksum. @param total is increased with each file */
async function* checkedFiles(
  files: AsyncIterable<ReadFile>,
  total: { files: number; size_bytes: number },
): AsyncGenerator<NewFile, void, undefined> {
  const paths = new Set<string>();
  const directories = new Set<string>();
  for await (const { path, size, sha256, content } of files) {
    if (path.endsWith('/')) throw invalidPath(path, 'it ends with /, so it is a directory.');
    const names = namesOf(path);
    const publicName = publicPath(names);
    if (paths.has(publicName)) throw invalidArchive(`it contains ${publicName} twice`);
    paths.add(publicName);
    const parents = names.slice(1).map((_, index) => publicPath(names.slice(0, index + 1)));
    for (const parent of parents) directories.add(parent);
    const conflict = directories.has(publicName) ? publicName : parents.find((parent) => paths.has(parent));
    if (conflict !== undefined) throw invalidArchive(`it contains ${conflict} both as a file and as a directory`);
    if (paths.size > maxFiles) throw invalidArchive(`it contains more than ${maxFiles} files`);
    if (size > maxFileBytes)
      throw new ServiceError(413, 'file_too_large', `${publicName} is larger than the allowed ${maxFileBytes} bytes.`);
    total.files += 1;
    total.size_bytes += size;
    yield { path, content: sha256 === undefined ? content : verified(content, sha256, publicName) };
  }
}

async function* verified(content: AsyncIterable<Uint8Array>, sha256: string, publicName: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== sha256) throw invalidArchive(`the content of ${publicName} does not match its checksum`);
}

const invalidArchive = (reason: string): ServiceError =>
  new ServiceError(400, 'invalid_archive', `The archive is not valid: ${reason}. None of its files was written.`);

/**
 * The files of a run as an archive. Throws 404 `sandbox_not_found`, 409 `sandbox_not_readable`, 400 for an invalid path or too many
 * files, 404 `file_not_found`.
 */
export async function packedFiles(
  context: RequestContext,
  run: RunRow,
  { path = workspace, after }: { path?: string; after?: string },
): Promise<MediaReply<unknown>> {
  const isHidden = publicPath(namesOf(path)) === workspace ? await hiddenFiles(context, run) : undefined;
  const packed = await inSandbox(context, run, (sandbox) => sandbox.walk(path, isHidden));
  if ('message' in packed) {
    if (packed.sandboxStatus === 'not_found') throw new ServiceError(404, 'sandbox_not_found', packed.message);
    throw new ServiceError(409, 'sandbox_not_readable', packed.message);
  }
  const tree = packed.value;
  const stream = Readable.from(archiveBytes(tree, after), { objectMode: false, highWaterMark: 1 });
  return new MediaReply<unknown>(stream, {
    'Content-Type': 'application/x-tar',
    'Content-Disposition': `attachment; filename="${run.id}.tar"`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  });
}

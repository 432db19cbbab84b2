/** The files of a sandbox as the bytes of a tar archive, which are read from the disk no faster than they are sent. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { TarFileWriter } from '../../base/tar/tar-files.ts';
import { ServiceError } from '../errors.ts';
import { hostTrouble } from '../host-trouble.ts';
import { isOpenInside, openFlags, type Place } from './paths.ts';
import type { Sandbox } from './sandbox.ts';
import { comparePaths, type FileTree } from './walk.ts';

/** Larger files are left out, in bytes: on their own, they can be resumed. */
const maxFileBytes = 10_000_000;
/** Files up to this size are read in one piece, in bytes. */
const maxWholeBytes = 262_144;
const chunkBytes = 262_144;

/** The name of the first entry, which lists the files. */
const listName = 'aops-files.json';

/**
 * @param after the path of a file: only the files that follow it are listed and included
 */
export async function* archiveBytes(sandbox: Sandbox, tree: FileTree, after: string | undefined): AsyncGenerator<Buffer, void, undefined> {
  const files = after === undefined ? tree.files : tree.files.filter(({ displayPath }) => comparePaths(displayPath, after) > 0);
  const list = Buffer.from(
    JSON.stringify({
      path: tree.displayPath,
      files: files.map(({ displayPath, stats }) => ({ path: displayPath, size: stats?.size ?? 0 })),
    }),
  );
  const gathered = new Gathered();
  // The library is not needed to start a service.
  const { TarFileWriter: Writer } = await import('../../base/tar/tar-files.ts');
  const tar = new Writer();
  try {
    for await (const bytes of tar.add({ path: listName, size: list.length, sha256: sumOf(list) }, [list])) gathered.add(bytes);
    for (const file of files) {
      for await (const bytes of entryBytes(tar, sandbox, file)) {
        gathered.add(bytes);
        if (gathered.size < chunkBytes) continue;
        yield gathered.take();
        // Otherwise a client that receives fast enough would keep all others waiting.
        await setImmediate();
      }
    }
    for await (const bytes of tar.end()) gathered.add(bytes);
    yield gathered.take();
  } finally {
    tar.close();
  }
}

/** Small pieces that are sent together. */
class Gathered {
  size = 0;
  #pieces: Uint8Array[] = [];

  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.size += piece.length;
  }

  take(): Buffer {
    const bytes = Buffer.concat(this.#pieces, this.size);
    this.#pieces = [];
    this.size = 0;
    return bytes;
  }
}

/** The entry of a file; nothing if it can no longer be read. Its content may change in the meantime: then it does not match its checksum. */
async function* entryBytes(tar: TarFileWriter, sandbox: Sandbox, place: Place): AsyncGenerator<Uint8Array, void, undefined> {
  if ((place.stats?.size ?? 0) > maxFileBytes) return;
  const whole = readWhole(sandbox.directory, place);
  if (whole !== undefined) {
    yield* tar.add({ path: place.displayPath, size: whole.length, sha256: sumOf(whole) }, [whole]);
    return;
  }
  const handle = await sandbox.openPlace(place).catch((error: unknown) => {
    // Requested by itself, the file gets the answer that says why.
    if (error instanceof ServiceError || hostTrouble(error) === undefined) return undefined;
    throw error;
  });
  if (handle === undefined) return;
  try {
    const { size } = await handle.stat();
    if (size > maxFileBytes) return;
    const hash = createHash('sha256');
    for await (const bytes of contentOf(handle, size)) hash.update(bytes);
    yield* tar.add({ path: place.displayPath, size, sha256: hash.digest('hex') }, contentOf(handle, size));
  } finally {
    await handle.close();
  }
}

const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * The content of a small file. It is read synchronously, which takes a fraction of the time that several calls through threads do.
 * Undefined if it cannot be read in this way.
 */
function readWhole(root: string, place: Place): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(place.realPath, openFlags);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > maxWholeBytes || !isOpenInside(root, descriptor)) return undefined;
    const bytes = Buffer.allocUnsafe(stats.size);
    return readSync(descriptor, bytes, 0, bytes.length, 0) === bytes.length ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The first `size` bytes of a file; zeros for those that are no longer there. */
async function* contentOf(handle: FileHandle, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let position = 0; position < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    const bytes = bytesRead === 0 ? buffer.fill(0) : buffer.subarray(0, bytesRead);
    position += bytes.length;
    yield bytes;
  }
}

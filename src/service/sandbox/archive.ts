/** The files of a sandbox as the bytes of a tar archive, which are read no faster than they are sent. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { TarFileWriter } from '../../base/tar/tar-files.ts';
import type { FileTree, TreeFile } from './sandbox-files.ts';
import { comparePaths } from './walk.ts';

/** Larger files are left out, in bytes: on their own, they can be resumed. */
const maxFileBytes = 10_000_000;
const chunkBytes = 262_144;

/** The name of the first entry, which lists the files. */
const listName = 'aops-files.json';

/**
 * @param after the path of a file: only the files that follow it are listed and included
 */
export async function* archiveBytes(tree: FileTree, after: string | undefined): AsyncGenerator<Buffer, void, undefined> {
  const files = after === undefined ? tree.files : tree.files.filter(({ displayPath }) => comparePaths(displayPath, after) > 0);
  const list = Buffer.from(
    JSON.stringify({
      path: tree.displayPath,
      files: files.map(({ displayPath, size }) => ({ path: displayPath, size })),
    }),
  );
  const gathered = new Gathered();
  // The library is not needed to start a service.
  const { TarFileWriter: Writer } = await import('../../base/tar/tar-files.ts');
  const tar = new Writer();
  try {
    for await (const bytes of tar.add({ path: listName, size: list.length, sha256: sumOf(list) }, [list])) gathered.add(bytes);
    for (const file of files) {
      for await (const bytes of entryBytes(tar, file)) {
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
async function* entryBytes(tar: TarFileWriter, file: TreeFile): AsyncGenerator<Uint8Array, void, undefined> {
  if (file.size > maxFileBytes) return;
  const content = await file.content(maxFileBytes);
  if (content === undefined) return;
  try {
    yield* tar.add({ path: file.displayPath, size: content.size, sha256: content.sha256 }, content.chunks);
  } finally {
    await content.close?.();
  }
}

const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

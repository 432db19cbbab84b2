/** Archives of plain files, as client and service exchange them: each file with its SHA-256, and nothing else. */
import type { Buffer } from 'node:buffer';
import { InvalidArchiveError } from './tar-entry.ts';
import { readTar } from './tar-reader.ts';
import { TarWriter } from './tar-writer.ts';

export interface TarFile {
  /** With slashes between its parts. */
  path: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content in hex; undefined if another program wrote the archive. */
  sha256?: string | undefined;
}

export interface ReadFile extends TarFile {
  /** The content, which can be read until the next file is requested; otherwise it is skipped. */
  content: AsyncIterable<Uint8Array>;
}

/**
 * The files of an archive, in its order. Folders are skipped.
 * @throws InvalidArchiveError, also for links; and whatever the source throws, after the files that arrived before
 */
export async function* readTarFiles(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadFile, void, undefined> {
  for await (const { name, type, size, sha256, content } of readTar(source)) {
    if (type === 'link') throw new InvalidArchiveError('it contains an entry of type "link", which is not a file');
    if (type === 'file') yield { path: name, size, sha256, content: { [Symbol.asyncIterator]: content } };
  }
}

/** Writes an archive of files. Its bytes depend only on the files, so that a request that is sent again is the same request. */
export class TarFileWriter {
  readonly #tar = new TarWriter();

  /** The bytes of a file. Without a checksum, tar-stream would shorten some long paths that begin with a slash. */
  add(
    { path, size, sha256 }: TarFile & { sha256: string },
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Buffer> {
    return this.#tar.add({ name: path, type: 'file', size, mode: 0o644, modifiedAt: 0, sha256 }, content);
  }

  /** The bytes after the last file. */
  end(): AsyncGenerator<Buffer> {
    return this.#tar.end();
  }

  close(): void {
    this.#tar.close();
  }
}

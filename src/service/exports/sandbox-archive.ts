/** The archive of a sandbox: a tar archive whose entries are in the order of their names. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { posix } from 'node:path';
import { InvalidArchiveError } from '../../base/tar/tar-entry.ts';
import { type ReadEntry, readTar } from '../../base/tar/tar-reader.ts';
import { TarWriter } from '../../base/tar/tar-writer.ts';
import { faultyLinks } from '../backup/links.ts';
import { sniffLength } from '../sandbox/file-kind.ts';
import { isTextStart } from '../sandbox/record/capture.ts';
import { isRecorded, isScanned, maxPathBytes, type RecordedEntry } from '../sandbox/record/entries.ts';
import type { FileEntry } from './format.ts';
import { damagedExport } from './problems.ts';
import { placeOf, type SandboxContents } from './sandbox-contents.ts';

/** The bytes of an archive. */
export async function* archiveBytes({ entries, open }: SandboxContents): AsyncGenerator<Buffer> {
  const tar = new TarWriter();
  try {
    for (const entry of entries) {
      const content = entry.type === 'file' ? await open(entry) : [];
      if (content !== undefined) yield* tar.add(entry, content);
    }
    yield* tar.end();
  } finally {
    tar.close();
  }
}

/** What a file of the archive is stored as: the bytes of the archive. */
export const archiveKey = 'archive';

/**
 * Reads an archive, which anyone may have written, and checks everything in it. The bytes of its files are stored at positions of the
 * archive.
 * @param file its place on the disk @param listed what the list of files says about it
 * @throws AopsError `export_damaged`
 */
export async function readArchive(file: string, sandboxId: string, listed: FileEntry, signal: AbortSignal): Promise<RecordedEntry[]> {
  const { path: name, size, sha256 } = listed;
  const hash = createHash('sha256');
  let bytes = 0;
  const source = createReadStream(file, { highWaterMark: 262_144, signal });
  const measured = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  };
  const record = new ArchiveRecord(name, sandboxId);
  try {
    for await (const entry of readTar(measured())) await record.add(entry);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof InvalidArchiveError ? damagedExport(name, `cannot be read: ${error.message}`) : error;
  } finally {
    source.destroy();
  }
  if (bytes !== size || hash.digest('hex') !== sha256) throw damagedExport(name, 'does not match its checksum');
  return record.end();
}

class ArchiveRecord {
  readonly #archive: string;
  readonly #sandboxId: string;
  readonly #entries = new Map<string, RecordedEntry>();
  #last = '';

  constructor(archive: string, sandboxId: string) {
    this.#archive = archive;
    this.#sandboxId = sandboxId;
  }

  async add(entry: ReadEntry): Promise<void> {
    this.#checkName(entry);
    const { name, type, mode, target = '' } = entry;
    const modifiedAt = entry.modifiedAt * 1_000;
    if (type === 'link') this.#entries.set(name, { type, path: name, target, modifiedAt });
    else if (type === 'folder') this.#entries.set(name, { type, path: name, mode: mode & 0o777, modifiedAt });
    else this.#entries.set(name, { type, path: name, mode: mode & 0o777, modifiedAt, ...(await contentOf(entry)) });
  }

  end(): RecordedEntry[] {
    const entries = [...this.#entries.values()];
    const links = entries.flatMap((entry) =>
      entry.type === 'link' ? [[placeOf(this.#sandboxId, entry.path), entry.target] as const] : [],
    );
    for (const [link, fault] of faultyLinks(new Map(links))) throw this.#damage(`contains the link ${quote(link)}, which ${fault}`);
    return entries;
  }

  /** Everything is in a folder of the run, and below folders of the archive that come first. */
  #checkName({ name, type }: ReadEntry): void {
    const isPlain = name.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
    if (!isPlain || !isScanned(name) || !isRecorded(name) || Buffer.byteLength(name) > maxPathBytes)
      throw this.#damage(`contains ${quote(name)}, which no sandbox contains`);
    if (name <= this.#last) throw this.#damage(`contains ${quote(name)} out of order`);
    this.#last = name;
    const parent = posix.dirname(name);
    if (parent === '.' ? type !== 'folder' : this.#entries.get(parent)?.type !== 'folder')
      throw this.#damage(`contains ${quote(name)}, which is not in a folder`);
  }

  #damage(problem: string): Error {
    return damagedExport(this.#archive, problem);
  }
}

const quote = (name: string): string => JSON.stringify(name.slice(0, 200));

async function contentOf({ size, position, content }: ReadEntry) {
  const hash = createHash('sha256');
  const start: Uint8Array[] = [];
  let startBytes = 0;
  for await (const chunk of content()) {
    hash.update(chunk);
    if (startBytes < sniffLength) start.push(chunk.subarray(0, sniffLength - startBytes));
    startBytes += chunk.length;
  }
  const isText = isTextStart(Buffer.concat(start), size);
  return { size, sha256: hash.digest('hex'), isText, stored: size === 0 ? null : { key: archiveKey, position } };
}

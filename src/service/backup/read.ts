/** Reads a backup from its first byte to its last, and checks every name and checksum. The contents are written to a folder, or not at all. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, futimesSync, mkdirSync, openSync, realpathSync, statfsSync, symlinkSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { AopsError } from '../../base/errors.ts';
import { InvalidArchiveError } from '../../base/tar/tar-entry.ts';
import { type ReadEntry, readTar } from '../../base/tar/tar-reader.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { hasCode } from '../sandbox/paths.ts';
import { knownMigrations } from '../store/data-directory.ts';
import { type BackupInfo, databaseName, infoName, isWorkspace, parseInfo, parseSums, sumLine, sumsName } from './format.ts';
import { faultyLinks } from './links.ts';
import { Places } from './places.ts';
import { damagedBackup, quoteName } from './problems.ts';
import type { ReadProgress } from './progress.ts';

/** A file of at least this many bytes is only created if the disk has space for it. */
const minSizeToCheck = 1_048_576;

/** Bytes of the description. */
const maxInfoBytes = 65_536;

/**
 * Reads the backup whose bytes `source` yields, and writes its contents to `folder`, readable only by their owner.
 * @throws AopsError `backup_damaged`, `backup_newer`, `disk_full`; the caller has to remove what was written by then
 */
export async function readBackup(
  source: AsyncIterable<Uint8Array>,
  folder: string | undefined,
  progress: ReadProgress,
  signal: AbortSignal,
): Promise<BackupInfo> {
  const gunzip = createGunzip({ chunkSize: 65_536 });
  const completion = pipeline(source, gunzip, { signal });
  completion.catch(() => undefined);
  try {
    return await new BackupReader(folder, progress).read(readTar(gunzip as AsyncIterable<Uint8Array>));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InvalidArchiveError) throw damagedBackup(error.message, error);
    const { code = '' } = error as NodeJS.ErrnoException;
    throw code.startsWith('Z_')
      ? damagedBackup(code === 'Z_BUF_ERROR' ? 'it ends too early' : 'it is not a backup, or it was changed', error)
      : error;
  } finally {
    gunzip.destroy();
    await completion.catch(() => undefined);
  }
}

class BackupReader {
  readonly #folder: string | undefined;
  readonly #progress: ReadProgress;
  readonly #checksums = new Map<string, string>();
  readonly #places = new Places();
  /** Created when everything else has been written and checked, so that nothing is written through them. */
  readonly #links = new Map<string, string>();
  /** Folders that have been checked, and are not reached through a link. */
  readonly #checkedFolders = new Set<string>();

  constructor(folder: string | undefined, progress: ReadProgress) {
    this.#folder = folder === undefined ? undefined : realpathSync.native(folder);
    this.#progress = progress;
  }

  async read(entries: AsyncIterable<ReadEntry>): Promise<BackupInfo> {
    let sums: Map<string, string> | undefined;
    for await (const entry of entries) {
      if (sums !== undefined) throw damagedBackup('an entry follows its end');
      if (this.#progress.info === undefined) await this.#readInfo(entry);
      else if (entry.name === sumsName && entry.type === 'file') sums = await this.#readSums(entry);
      else await this.#unpack(entry);
    }
    if (sums === undefined || this.#progress.info === undefined) throw damagedBackup('it ends too early');
    this.#compare(sums);
    for (const [name, fault] of faultyLinks(this.#links)) throw damagedBackup(`the link ${quoteName(name)} ${fault}`);
    for (const [name, target] of this.#links) this.#onDisk(name, (place) => symlinkSync(target, place));
    return this.#progress.info;
  }

  /** It may contain one line for each file that has been read, and no more. */
  async #readSums(entry: ReadEntry): Promise<Map<string, string>> {
    let indexSize = 0;
    for (const [name, sum] of this.#checksums) indexSize += Buffer.byteLength(sumLine(sum, name));
    if (entry.size > indexSize) throw damagedBackup('it contains more checksums than files');
    return parseSums((await wholeContent(entry)).toString('utf8'));
  }

  async #readInfo(entry: ReadEntry): Promise<void> {
    if (entry.name !== infoName || entry.size > maxInfoBytes) throw damagedBackup('it is not an aops backup');
    const bytes = await wholeContent(entry);
    this.#progress.info = parseInfo(bytes.toString('utf8'), knownMigrations);
    this.#checksums.set(infoName, createHash('sha256').update(bytes).digest('hex'));
  }

  async #unpack(entry: ReadEntry): Promise<void> {
    const { name, type, target = '' } = entry;
    this.#places.take(name, type);
    if (type === 'file') return this.#file(entry);
    if (type === 'link') {
      this.#links.set(name, target);
      return;
    }
    if (isWorkspace(name)) this.#progress.sandboxes += 1;
    const folder = this.#folder;
    if (folder !== undefined) this.#tryWrite(name, () => this.#createFolder(path.join(folder, name), name));
  }

  /** @throws AopsError `disk_full` if there is no space for a large file */
  #requireSpace({ name, size }: ReadEntry): void {
    if (size < minSizeToCheck || this.#folder === undefined) return;
    const { bavail, bsize } = statfsSync(this.#folder);
    if (bavail * bsize >= size) return;
    throw writeFailure(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' }), path.join(this.#folder, name));
  }

  async #file(entry: ReadEntry): Promise<void> {
    const { name, mode, modifiedAt } = entry;
    this.#requireSpace(entry);
    const hash = createHash('sha256');
    // Only a new file: nothing is overwritten.
    const descriptor = this.#onDisk(name, (place) => openSync(place, 'wx', (mode & 0o100) === 0 ? 0o600 : 0o700));
    try {
      for await (const chunk of entry.content()) {
        hash.update(chunk);
        this.#progress.bytes += chunk.length;
        if (descriptor !== undefined) this.#tryWrite(name, () => writeAll(descriptor, chunk));
      }
      if (descriptor !== undefined) futimesSync(descriptor, modifiedAt, modifiedAt);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
    this.#progress.files += 1;
    this.#checksums.set(name, hash.digest('hex'));
  }

  #compare(sums: ReadonlyMap<string, string>): void {
    for (const name of [databaseName, ...sums.keys()]) if (!this.#checksums.has(name)) throw damagedBackup(`${quoteName(name)} is missing`);
    for (const [name, sum] of this.#checksums) {
      if (sums.get(name) !== sum) throw damagedBackup(`${quoteName(name)} does not match its checksum`);
    }
  }

  /** Creates something in its folder, which is created first. Returns undefined if nothing is written. */
  #onDisk<Value>(name: string, make: (place: string) => Value): Value | undefined {
    if (this.#folder === undefined) return undefined;
    const place = path.join(this.#folder, name);
    return this.#tryWrite(name, () => {
      this.#createFolder(path.dirname(place), name);
      return make(place);
    });
  }

  /** Creates a folder and its parents. Names have been checked already; this makes sure that nothing is ever created through a link. */
  #createFolder(folder: string, name: string): void {
    if (folder === this.#folder || this.#checkedFolders.has(folder)) return;
    this.#createFolder(path.dirname(folder), name);
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    if (realpathSync.native(folder) !== folder) throw damagedBackup(`${quoteName(name)} passes through a link`);
    this.#checkedFolders.add(folder);
  }

  #tryWrite<Value>(name: string, act: () => Value): Value {
    try {
      return act();
    } catch (error) {
      if (error instanceof AopsError) throw error;
      // The folder was empty, so whatever is in the way came from the backup.
      if (hasCode(error, 'EEXIST', 'ENOTDIR', 'EISDIR')) throw damagedBackup(`two entries in it are named ${quoteName(name)}`, error);
      throw writeFailure(error, path.join(this.#folder ?? '', name));
    }
  }
}

async function wholeContent(entry: ReadEntry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry.content()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A disk that is nearly full may write only a part; the next attempt then fails with the reason. */
function writeAll(descriptor: number, chunk: Buffer): void {
  for (let offset = 0; offset < chunk.length; ) offset += writeSync(descriptor, chunk, offset);
}

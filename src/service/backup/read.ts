/** Reads a backup from its first byte to its last: every name, every checksum. What it holds goes into a folder, or nowhere. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, futimesSync, mkdirSync, openSync, symlinkSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { AopsError } from '../../base/errors.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { hasCode } from '../sandbox/paths.ts';
import { migrations } from '../store/migrations/index.ts';
import { type BackupInfo, checkName, databaseName, infoName, parseInfo, parseSums, staysInside, sumsName } from './format.ts';
import { damaged, shown } from './problems.ts';
import { type ReadEntry, readTar } from './tar.ts';

/** What says what the backup is, is short. */
const longestInfo = 65_536;

export interface ReadProgress {
  info: BackupInfo | undefined;
  sandboxes: number;
  files: number;
  bytes: number;
}

export const newReadProgress = (): ReadProgress => ({ info: undefined, sandboxes: 0, files: 0, bytes: 0 });

/**
 * Reads the backup that `source` is, and writes what it holds below `folder`, readable for its owner alone.
 * @throws AopsError `backup_damaged`, `backup_newer`, `disk_full`; what was written by then has to be removed
 */
export async function readBackup(
  source: AsyncIterable<Uint8Array>,
  folder: string | undefined,
  progress: ReadProgress,
  signal: AbortSignal,
): Promise<BackupInfo> {
  const gunzip = createGunzip();
  const done = pipeline(source, gunzip, { signal });
  done.catch(() => undefined);
  try {
    return await new BackupReader(folder, progress).read(readTar(gunzip as AsyncIterable<Uint8Array>));
  } catch (error) {
    signal.throwIfAborted();
    const { code = '' } = error as NodeJS.ErrnoException;
    throw code.startsWith('Z_') ? damaged(code === 'Z_BUF_ERROR' ? 'it ends too early' : 'it is no backup, or was changed', error) : error;
  } finally {
    gunzip.destroy();
    await done.catch(() => undefined);
  }
}

class BackupReader {
  readonly #folder: string | undefined;
  readonly #progress: ReadProgress;
  readonly #sums = new Map<string, string>();
  /** Made when everything else is there: nothing is written through them. */
  readonly #links: { name: string; target: string }[] = [];

  constructor(folder: string | undefined, progress: ReadProgress) {
    this.#folder = folder;
    this.#progress = progress;
  }

  async read(entries: AsyncIterable<ReadEntry>): Promise<BackupInfo> {
    let told: Map<string, string> | undefined;
    for await (const entry of entries) {
      if (told !== undefined) throw damaged('something comes after its end');
      if (this.#progress.info === undefined) await this.#readInfo(entry);
      else if (entry.name === sumsName && entry.type === 'file') told = parseSums((await wholeContent(entry)).toString('utf8'));
      else await this.#keep(entry);
    }
    if (told === undefined || this.#progress.info === undefined) throw damaged('it ends too early');
    this.#compare(told);
    for (const { name, target } of this.#links) this.#onDisk(name, (place) => symlinkSync(target, place));
    return this.#progress.info;
  }

  async #readInfo(entry: ReadEntry): Promise<void> {
    if (entry.name !== infoName || entry.size > longestInfo) throw damaged('it is no backup of aops');
    const bytes = await wholeContent(entry);
    this.#progress.info = parseInfo(bytes.toString('utf8'), Object.keys(migrations));
    this.#sums.set(infoName, createHash('sha256').update(bytes).digest('hex'));
  }

  async #keep(entry: ReadEntry): Promise<void> {
    const { name, type, target = '' } = entry;
    checkName(name, type);
    if (type === 'file') return this.#file(entry);
    if (type === 'link') {
      if (!staysInside(name, target)) throw damaged(`the link ${shown(name)} leads out of its sandbox`);
      this.#links.push({ name, target });
      return;
    }
    if (name.endsWith('/workspace') && name.split('/').length === 3) this.#progress.sandboxes += 1;
    this.#onDisk(name, (place) => mkdirSync(place, { recursive: true, mode: 0o700 }));
  }

  async #file(entry: ReadEntry): Promise<void> {
    const { name, mode, modified } = entry;
    if (this.#sums.has(name)) throw damaged(`it has ${shown(name)} twice`);
    const hash = createHash('sha256');
    const descriptor = this.#onDisk(name, (place) => {
      mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
      // Only one that is new: nothing is written over what came before.
      return openSync(place, 'wx', (mode & 0o100) === 0 ? 0o600 : 0o700);
    });
    try {
      for await (const chunk of entry.content()) {
        hash.update(chunk);
        this.#progress.bytes += chunk.length;
        if (descriptor !== undefined) this.#onDisk(name, () => writeAll(descriptor, chunk));
      }
      if (descriptor !== undefined) futimesSync(descriptor, modified, modified);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
    this.#progress.files += 1;
    this.#sums.set(name, hash.digest('hex'));
  }

  #compare(told: ReadonlyMap<string, string>): void {
    for (const name of [databaseName, ...told.keys()]) if (!this.#sums.has(name)) throw damaged(`${shown(name)} is missing`);
    for (const [name, sum] of this.#sums) {
      if (told.get(name) !== sum) throw damaged(`${shown(name)} does not fit its checksum`);
    }
  }

  /** Undefined where nothing is written. */
  #onDisk<Value>(name: string, act: (place: string) => Value): Value | undefined {
    if (this.#folder === undefined) return undefined;
    const place = path.join(this.#folder, name);
    try {
      return act(place);
    } catch (error) {
      if (error instanceof AopsError) throw error;
      // The folder was empty: whatever is in the way came out of the backup.
      if (hasCode(error, 'EEXIST', 'ENOTDIR', 'EISDIR')) throw damaged(`two things in it have the place ${shown(name)}`, error);
      throw writeFailure(error, place);
    }
  }
}

async function wholeContent(entry: ReadEntry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry.content()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A disk that is nearly full takes a part; the next attempt says why. */
function writeAll(descriptor: number, chunk: Buffer): void {
  for (let written = 0; written < chunk.length; ) written += writeSync(descriptor, chunk, written);
}

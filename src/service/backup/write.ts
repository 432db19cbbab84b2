/** Writes a backup: the database first, then the files that it speaks of, those of runs that go on before all others. */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync, type Stats } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Contents } from './contents.ts';
import {
  type BackupInfo,
  databaseName,
  infoName,
  keyNames,
  largestBackup,
  longestName,
  sandboxFolders,
  sumLine,
  sumsName,
} from './format.ts';
import { faultyLinks } from './links.ts';
import { tooLarge } from './problems.ts';
import { type TarEntry, tarEnd, tarHeader, tarPadding } from './tar.ts';

/** More than this makes it little smaller, and takes several times as long. */
const compression = 3;
const chunkBytes = 262_144;
/** Bytes of holes, in all files of sandboxes together, that are written as the zeros they read as. */
const mostHoles = 1_073_741_824;
/** What is smaller on the disk by more than this was not merely compressed: ZFS and btrfs make 4 KiB of a record of 128 KiB at best. */
const densest = 64;

/** Holds a data directory still while it is copied. */
export interface HeldDirectory {
  readonly path: string;
  /** The moment that is held, ISO 8601. */
  readonly createdAt: string;
  /** Copies the file of the database. */
  copyDatabase(to: string): Promise<void>;
  /** Told when all has been copied that must not go on, and at the end: nothing may have been removed until then. Throws when it may. */
  keepFilesAlone(): Promise<void>;
  release(): Promise<void>;
}

/** What is not in a backup as it was on the disk, and why, as half a sentence. */
export interface Problem {
  path: string;
  problem: string;
}

/** Grows while the backup is written. */
export interface BackupProgress {
  info: BackupInfo | undefined;
  sandboxes: number;
  files: number;
  /** Before they are compressed. */
  bytes: number;
  problems: Problem[];
}

export const newProgress = (): BackupProgress => ({ info: undefined, sandboxes: 0, files: 0, bytes: 0, problems: [] });

/**
 * The bytes of a backup.
 * @param workFile where the copy of the database may lie meanwhile
 */
export async function* backupBytes(
  held: HeldDirectory,
  workFile: string,
  progress: BackupProgress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: compression });
  const tar = new BackupWriter(held, workFile, progress).entries();
  // Its failure is that of the stream that is read here.
  const done = pipeline(Readable.from(tar, { objectMode: true, highWaterMark: 1 }), gzip);
  done.catch(() => undefined);
  try {
    for await (const chunk of gzip as AsyncIterable<Uint8Array>) {
      signal.throwIfAborted();
      yield chunk;
    }
    await done;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    gzip.destroy();
    await done.catch(() => undefined);
    await rm(workFile, { force: true });
  }
}

class BackupWriter {
  readonly #held: HeldDirectory;
  readonly #workFile: string;
  readonly #progress: BackupProgress;
  readonly #sums: string[] = [];
  #entries = 0;
  #holes = 0;

  constructor(held: HeldDirectory, workFile: string, progress: BackupProgress) {
    this.#held = held;
    this.#workFile = workFile;
    this.#progress = progress;
  }

  async *entries(): AsyncGenerator<Buffer> {
    const { path: directory, createdAt } = this.#held;
    await this.#held.copyDatabase(this.#workFile);
    const contents = await Contents.open(this.#workFile);
    try {
      this.#progress.info = await contents.info(createdAt);
      const open = new Set(await contents.openSandboxes());
      // Nobody goes on with them before they are copied, so they are first.
      yield* this.#text(infoName, `${JSON.stringify(this.#progress.info, null, 2)}\n`);
      for (const id of open) yield* this.#sandbox(id);
      await this.#held.keepFilesAlone();
      for (const name of keyNames) yield* this.#file(name, path.join(directory, name));
      for await (const { id, runId, sha256 } of contents.runFiles()) {
        const name = `files/${runId}/${id}`;
        yield* this.#file(name, path.join(directory, name), { expected: sha256 });
      }
      for await (const id of contents.sandboxes()) if (!open.has(id)) yield* this.#sandbox(id);
    } finally {
      await contents.close();
    }
    yield* this.#file(databaseName, this.#workFile);
    // Whatever is gone by now was removed while nothing held it.
    await this.#held.keepFilesAlone();
    yield* this.#text(sumsName, this.#sums.join(''));
    yield tarEnd();
  }

  async *#sandbox(id: string): AsyncGenerator<Buffer> {
    this.#progress.sandboxes += 1;
    const links: Links = new Map();
    for (const folder of sandboxFolders) yield* this.#folder(`sandboxes/${id}/${folder}`, links);
    yield* this.#links(links);
  }

  /** @param links grows by those that are found; where they lead can be said when all are known */
  async *#folder(name: string, links: Links): AsyncGenerator<Buffer> {
    const place = path.join(this.#held.path, name);
    const found = lstatSync(place, { throwIfNoEntry: false });
    // Made when they are needed, and of a sandbox that a run goes on with anything may vanish.
    if (!found?.isDirectory()) return;
    yield this.#head({ name, type: 'folder', size: 0, mode: 0o700, modified: found.mtimeMs / 1_000 });
    for (const entry of this.#entriesOf(name, place)) {
      const inner = `${name}/${entry.name}`;
      if (!isUtf8(entry.name)) this.#trouble(inner, 'its name is not valid UTF-8, so it is left out');
      else if (Buffer.byteLength(inner) > longestName) this.#trouble(inner, 'its path is too long, so it is left out');
      else if (entry.isDirectory()) yield* this.#folder(inner, links);
      else if (entry.isFile()) yield* this.#file(inner, path.join(this.#held.path, inner), { inSandbox: true });
      else if (entry.isSymbolicLink()) this.#findLink(inner, links);
      else this.#trouble(inner, 'it is not a file, folder or link, so it is left out');
    }
  }

  #entriesOf(name: string, place: string) {
    try {
      return readdirSync(place, { withFileTypes: true, encoding: 'buffer' });
    } catch (error) {
      this.#trouble(name, reasonOf(error));
      return [];
    }
  }

  #findLink(name: string, links: Links): void {
    const place = path.join(this.#held.path, name);
    try {
      const target = readlinkSync(place, { encoding: 'buffer' });
      if (!isUtf8(target)) this.#trouble(name, 'it is a link to a name that is not valid UTF-8, so it is left out');
      else links.set(name, { target: target.toString(), modified: lstatSync(place).mtimeMs / 1_000 });
    } catch (error) {
      this.#trouble(name, reasonOf(error));
    }
  }

  *#links(links: Links): Generator<Buffer> {
    const faults = faultyLinks(new Map([...links].map(([name, { target }]) => [name, target])));
    for (const [name, link] of links) {
      const fault = faults.get(name);
      if (fault === undefined) yield this.#head({ name, type: 'link', size: 0, mode: 0o777, ...link });
      else this.#trouble(name, `it is a link that ${fault}, so it is left out`);
    }
  }

  /** The header of an entry. @throws AopsError `backup_too_large` for one more than can be restored */
  #head(entry: TarEntry): Buffer {
    this.#entries += 1;
    if (this.#entries > largestBackup) throw tooLarge(largestBackup);
    return tarHeader(entry);
  }

  async *#file(name: string, place: string, { expected, inSandbox = false }: FileFacts = {}): AsyncGenerator<Buffer> {
    let descriptor: number;
    try {
      // Should a pipe have taken its place, opening must not wait for a writer.
      descriptor = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      return this.#trouble(name, reasonOf(error));
    }
    try {
      const found = fstatSync(descriptor);
      if (!found.isFile()) return this.#trouble(name, 'it is not a file, folder or link, so it is left out');
      if (inSandbox && this.#isHollow(found)) {
        const [size, onDisk] = [formatBytes(found.size), formatBytes(bytesOnDisk(found))];
        return this.#trouble(name, `it is ${size} long with only ${onDisk} of it on the disk, so it is left out`);
      }
      const entry: TarEntry = { name, type: 'file', size: found.size, mode: modeOf(found.mode), modified: found.mtimeMs / 1_000 };
      const hash = createHash('sha256');
      let ended = false;
      yield this.#head(entry);
      for (let position = 0; position < found.size; ) {
        const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, found.size - position));
        const length = readSync(descriptor, chunk, 0, chunk.length, position);
        ended ||= length === 0;
        // Its length was told already.
        const bytes = ended ? chunk.fill(0) : chunk.subarray(0, length);
        hash.update(bytes);
        position += bytes.length;
        this.#progress.bytes += bytes.length;
        yield bytes;
      }
      yield tarPadding(found.size);
      const sum = hash.digest('hex');
      if (ended) this.#trouble(name, 'it became shorter while it was read, and ends with zeros');
      else if (expected !== undefined && sum !== expected) this.#trouble(name, 'it was changed on the disk before');
      this.#sums.push(sumLine(sum, name));
      this.#progress.files += 1;
    } finally {
      closeSync(descriptor);
    }
  }

  /** Whether a file consists of more holes than there is room for: one command makes a file of any length that takes no space. */
  #isHollow(found: Stats): boolean {
    const holes = found.size - bytesOnDisk(found);
    if (bytesOnDisk(found) * densest > found.size) return false;
    if (this.#holes + holes > mostHoles) return true;
    this.#holes += holes;
    return false;
  }

  *#text(name: string, text: string): Generator<Buffer> {
    const bytes = Buffer.from(text);
    yield this.#head({ name, type: 'file', size: bytes.length, mode: 0o600, modified: Date.parse(this.#held.createdAt) / 1_000 });
    yield bytes;
    yield tarPadding(bytes.length);
    if (name !== sumsName) this.#sums.push(sumLine(createHash('sha256').update(bytes).digest('hex'), name));
  }

  #trouble(name: string, problem: string): void {
    this.#progress.problems.push({ path: name, problem });
  }
}

/** Links of a sandbox by name. */
type Links = Map<string, { target: string; modified: number }>;

interface FileFacts {
  /** The sum that it should have. */
  expected?: string;
  /** Whether runs have written it. */
  inSandbox?: boolean;
}

/** `st_blocks` counts units of 512 bytes, whatever the block size of the file system; where it is unknown, all is taken to be there. */
const bytesOnDisk = ({ size, blocks }: Stats): number => (Number.isFinite(blocks) ? blocks * 512 : size);

const formatBytes = (bytes: number): string => `${bytes.toLocaleString('en-US')} bytes`;

/** Private, and a program stays one. */
const modeOf = (mode: number): number => ((mode & 0o100) === 0 ? 0o600 : 0o700);

const reasons: Record<string, string> = {
  ENOENT: 'it is gone from the disk',
  EACCES: 'it may not be read, so it is left out',
  EPERM: 'it may not be read, so it is left out',
  ELOOP: 'it became a link, so it is left out',
  ENAMETOOLONG: 'its path is too long, so it is left out',
};

function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) throw error;
  return reason;
}

/** Writes a backup: the database first, then the files that it speaks of, those of runs that go on before all others. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Contents } from './contents.ts';
import { type BackupInfo, databaseName, infoName, keyNames, sandboxFolders, staysInside, sumLine, sumsName } from './format.ts';
import { type TarEntry, tarEnd, tarHeader, tarPadding } from './tar.ts';

/** More than this makes it little smaller, and takes several times as long. */
const compression = 3;
const chunkBytes = 262_144;

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
        yield* this.#file(name, path.join(directory, name), sha256);
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
    for (const folder of sandboxFolders) yield* this.#folder(`sandboxes/${id}/${folder}`);
  }

  async *#folder(name: string): AsyncGenerator<Buffer> {
    const place = path.join(this.#held.path, name);
    const found = lstatSync(place, { throwIfNoEntry: false });
    // Made when they are needed, and of a sandbox that a run goes on with anything may vanish.
    if (!found?.isDirectory()) return;
    yield tarHeader({ name, type: 'folder', size: 0, mode: 0o700, modified: found.mtimeMs / 1_000 });
    for (const entry of this.#entriesOf(name, place)) {
      const inner = `${name}/${entry.name}`;
      if (entry.isDirectory()) yield* this.#folder(inner);
      else if (entry.isFile()) yield* this.#file(inner, path.join(place, entry.name));
      else if (entry.isSymbolicLink()) yield* this.#link(inner, path.join(place, entry.name));
      else this.#trouble(inner, 'it is no file, folder or link, and left out');
    }
  }

  #entriesOf(name: string, place: string) {
    try {
      return readdirSync(place, { withFileTypes: true });
    } catch (error) {
      this.#trouble(name, reasonOf(error));
      return [];
    }
  }

  *#link(name: string, place: string): Generator<Buffer> {
    try {
      const target = readlinkSync(place);
      if (!staysInside(name, target)) return this.#trouble(name, 'it is a link out of its sandbox, and left out');
      yield tarHeader({ name, type: 'link', size: 0, mode: 0o777, modified: lstatSync(place).mtimeMs / 1_000, target });
    } catch (error) {
      this.#trouble(name, reasonOf(error));
    }
  }

  /** @param expected the sum that it should have */
  async *#file(name: string, place: string, expected?: string): AsyncGenerator<Buffer> {
    let descriptor: number;
    try {
      // Should a pipe have taken its place, opening must not wait for a writer.
      descriptor = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      return this.#trouble(name, reasonOf(error));
    }
    try {
      const found = fstatSync(descriptor);
      if (!found.isFile()) return this.#trouble(name, 'it is no file, folder or link, and left out');
      const entry: TarEntry = { name, type: 'file', size: found.size, mode: modeOf(found.mode), modified: found.mtimeMs / 1_000 };
      const hash = createHash('sha256');
      let ended = false;
      yield tarHeader(entry);
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

  *#text(name: string, text: string): Generator<Buffer> {
    const bytes = Buffer.from(text);
    yield tarHeader({ name, type: 'file', size: bytes.length, mode: 0o600, modified: Date.parse(this.#held.createdAt) / 1_000 });
    yield bytes;
    yield tarPadding(bytes.length);
    if (name !== sumsName) this.#sums.push(sumLine(createHash('sha256').update(bytes).digest('hex'), name));
  }

  #trouble(name: string, problem: string): void {
    this.#progress.problems.push({ path: name, problem });
  }
}

/** Private, and a program stays one. */
const modeOf = (mode: number): number => ((mode & 0o100) === 0 ? 0o600 : 0o700);

const reasons: Record<string, string> = {
  ENOENT: 'it is gone from the disk',
  EACCES: 'it may not be read, and is left out',
  EPERM: 'it may not be read, and is left out',
  ELOOP: 'it became a link, and is left out',
};

function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (reason === undefined) throw error;
  return reason;
}

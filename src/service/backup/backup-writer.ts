/** The archive of a backup: first the sandboxes of open runs, which wait for it, then everything else that the database refers to. */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { TarEntry } from '../../base/tar/tar-entry.ts';
import { TarWriter } from '../../base/tar/tar-writer.ts';
import { Contents } from './contents.ts';
import { bytesOnDisk, fileBytes, Holes, openForCopy, reasonOf } from './disk-file.ts';
import {
  databaseName,
  infoName,
  isWorkspace,
  keyNames,
  maxBackupEntries,
  maxNameBytes,
  sandboxFolders,
  sumLine,
  sumsName,
} from './format.ts';
import type { HeldDirectory } from './held-directory.ts';
import { faultyLinks } from './links.ts';
import { tooLarge } from './problems.ts';
import type { BackupProgress } from './progress.ts';

/** Links of a sandbox by name. */
type Links = Map<string, { target: string; modifiedAt: number }>;

interface FileFacts {
  /** The SHA-256 that it should have. */
  expectedDigest?: string;
  /** Whether a run may have written it. */
  inSandbox?: boolean;
}

export class BackupWriter {
  readonly #directory: HeldDirectory;
  readonly #workFile: string;
  readonly #progress: BackupProgress;
  readonly #checksumLines: string[] = [];
  readonly #holes = new Holes();
  readonly #tar = new TarWriter();
  #entries = 0;

  constructor(directory: HeldDirectory, workFile: string, progress: BackupProgress) {
    this.#directory = directory;
    this.#workFile = workFile;
    this.#progress = progress;
  }

  /** The bytes of the archive, not compressed. */
  async *bytes(): AsyncGenerator<Buffer> {
    try {
      await this.#directory.copyDatabase(this.#workFile);
      const contents = await Contents.open(this.#workFile);
      try {
        yield* this.#files(contents);
      } finally {
        await contents.close();
      }
      yield* this.#file(databaseName, this.#workFile);
      // Anything that is missing by now was removed while the directory was not held.
      await this.#directory.keepFilesAlone();
      yield* this.#text(sumsName, this.#checksumLines.join(''));
      yield* this.#tar.end();
    } finally {
      this.#tar.close();
    }
  }

  async *#files(contents: Contents): AsyncGenerator<Buffer> {
    const { path: directory, createdAt } = this.#directory;
    this.#progress.info = await contents.info(createdAt);
    const open = new Set(await contents.openSandboxes());
    yield* this.#text(infoName, `${JSON.stringify(this.#progress.info, null, 2)}\n`);
    // Their runs wait until they have been copied.
    for (const id of open) yield* this.#sandbox(id);
    await this.#directory.keepFilesAlone();
    for (const name of keyNames) yield* this.#file(name, path.join(directory, name));
    for await (const { id, runId, sha256 } of contents.runFiles()) {
      const name = `files/${runId}/${id}`;
      yield* this.#file(name, path.join(directory, name), { expectedDigest: sha256 });
    }
    for await (const id of contents.sandboxes()) if (!open.has(id)) yield* this.#sandbox(id);
  }

  async *#sandbox(id: string): AsyncGenerator<Buffer> {
    const links: Links = new Map();
    for (const folder of sandboxFolders) yield* this.#folder(`sandboxes/${id}/${folder}`, links);
    yield* this.#links(links);
  }

  /** @param links receives the links that are found; their targets can be checked only when all of them are known */
  async *#folder(name: string, links: Links): AsyncGenerator<Buffer> {
    const place = path.join(this.#directory.path, name);
    const stats = lstatSync(place, { throwIfNoEntry: false });
    // Folders are created when they are needed, and anything can disappear from the sandbox of an active run.
    if (!stats?.isDirectory()) return;
    if (isWorkspace(name)) this.#progress.sandboxes += 1;
    yield* this.#add({ name, type: 'folder', size: 0, mode: 0o700, modifiedAt: stats.mtimeMs / 1_000 });
    for (const entry of this.#listing(name, place)) {
      const entryName = `${name}/${entry.name}`;
      if (!isUtf8(entry.name)) this.#report(entryName, 'its name is not valid UTF-8, so it is left out');
      else if (Buffer.byteLength(entryName) > maxNameBytes) this.#report(entryName, 'its path is too long, so it is left out');
      else if (entry.isDirectory()) yield* this.#folder(entryName, links);
      else if (entry.isFile()) yield* this.#file(entryName, path.join(this.#directory.path, entryName), { inSandbox: true });
      else if (entry.isSymbolicLink()) this.#findLink(entryName, links);
      else this.#report(entryName, 'it is not a file, folder, or link, so it is left out');
    }
  }

  #listing(name: string, place: string) {
    try {
      return readdirSync(place, { withFileTypes: true, encoding: 'buffer' });
    } catch (error) {
      this.#report(name, reasonOf(error));
      return [];
    }
  }

  #findLink(name: string, links: Links): void {
    const place = path.join(this.#directory.path, name);
    try {
      const target = readlinkSync(place, { encoding: 'buffer' });
      if (!isUtf8(target)) this.#report(name, 'it is a link to a name that is not valid UTF-8, so it is left out');
      else links.set(name, { target: target.toString(), modifiedAt: lstatSync(place).mtimeMs / 1_000 });
    } catch (error) {
      this.#report(name, reasonOf(error));
    }
  }

  async *#links(links: Links): AsyncGenerator<Buffer> {
    const faults = faultyLinks(new Map([...links].map(([name, { target }]) => [name, target])));
    for (const [name, link] of links) {
      const fault = faults.get(name);
      if (fault === undefined) yield* this.#add({ name, type: 'link', size: 0, mode: 0o777, ...link });
      else this.#report(name, `it is a link that ${fault}, so it is left out`);
    }
  }

  async *#file(name: string, place: string, { expectedDigest, inSandbox = false }: FileFacts = {}): AsyncGenerator<Buffer> {
    let descriptor: number;
    try {
      descriptor = openForCopy(place);
    } catch (error) {
      return this.#report(name, reasonOf(error));
    }
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return this.#report(name, 'it is not a file, folder, or link, so it is left out');
      if (inSandbox && this.#holes.areTooMany(stats)) {
        const [size, onDisk] = [formatBytes(stats.size), formatBytes(bytesOnDisk(stats))];
        return this.#report(name, `it is ${size} long with only ${onDisk} on the disk, so it is left out`);
      }
      const hash = createHash('sha256');
      let isShort = false;
      const bytes = fileBytes(descriptor, stats.size, () => {
        isShort = true;
      });
      const entry: TarEntry = { name, type: 'file', size: stats.size, mode: modeOf(stats.mode), modifiedAt: stats.mtimeMs / 1_000 };
      yield* this.#add(entry, this.#measure(bytes, hash));
      const sum = hash.digest('hex');
      if (isShort) this.#report(name, 'it became shorter while it was being read, so its end consists of zeros');
      else if (expectedDigest !== undefined && sum !== expectedDigest) this.#report(name, 'it had been changed on the disk');
      this.#checksumLines.push(sumLine(sum, name));
      this.#progress.files += 1;
    } finally {
      closeSync(descriptor);
    }
  }

  *#measure(chunks: Iterable<Buffer>, hash: Hash): Generator<Buffer> {
    for (const bytes of chunks) {
      hash.update(bytes);
      this.#progress.bytes += bytes.length;
      yield bytes;
    }
  }

  async *#text(name: string, text: string): AsyncGenerator<Buffer> {
    const bytes = Buffer.from(text);
    const modifiedAt = Date.parse(this.#directory.createdAt) / 1_000;
    yield* this.#add({ name, type: 'file', size: bytes.length, mode: 0o600, modifiedAt }, bytes.length === 0 ? [] : [bytes]);
    if (name !== sumsName) this.#checksumLines.push(sumLine(createHash('sha256').update(bytes).digest('hex'), name));
  }

  /** @throws AopsError `backup_too_large` if there are more entries than can be restored */
  #add(entry: TarEntry, content?: Iterable<Buffer>): AsyncGenerator<Buffer> {
    this.#entries += 1;
    if (this.#entries > maxBackupEntries) throw tooLarge(maxBackupEntries);
    return this.#tar.add(entry, content);
  }

  #report(name: string, problem: string): void {
    this.#progress.problems.push({ path: name, problem });
  }
}

const formatBytes = (bytes: number): string => `${bytes.toLocaleString('en-US')} bytes`;

/** Accessible to the owner only; a program stays executable. */
const modeOf = (mode: number): number => ((mode & 0o100) === 0 ? 0o600 : 0o700);

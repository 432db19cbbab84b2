/** Checks an export completely before anything is imported from it. */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { migrations } from '../store/database/migrations/index.ts';
import type { Row } from '../store/database/portable/rows.ts';
import { progressName } from './export-folder.ts';
import {
  type FileEntry,
  fileListName,
  follows,
  type LinesEntry,
  type ListedFile,
  type Manifest,
  manifestName,
  parseFileEntry,
  parseManifest,
  tableFileName,
} from './format.ts';
import { hashFile, lineBatches } from './lines.ts';
import { damagedExport, incompleteExport, noExport } from './problems.ts';
import type { MoveProgress } from './progress.ts';
import { readArchive } from './sandbox-archive.ts';
import { rowOf } from './table-lines.ts';

export interface CheckedExport {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The SHA-256 of the manifest, and with it of the whole export. */
  readonly digest: string;
}

export interface CheckOptions {
  progress: MoveProgress;
  signal: AbortSignal;
  /** Called before everything else is read. */
  onManifest?: (manifest: Manifest) => void;
}

/** Reads everything in the export. @throws AopsError `export_missing`, `export_incomplete`, `export_damaged`, `export_newer`, `not_readable` */
export async function checkExport(folder: string, options: CheckOptions): Promise<CheckedExport> {
  const { progress, signal } = options;
  const bytes = await readFile(path.join(folder, manifestName)).catch((error: unknown) => {
    if (!isAbsent(error)) throw readFailure(error, path.join(folder, manifestName));
    throw existsSync(path.join(folder, progressName)) ? incompleteExport(folder) : noExport(folder);
  });
  const manifest = parseManifest(bytes.toString(), Object.keys(migrations));
  options.onManifest?.(manifest);
  const sandboxIds = new Set<string>();
  for (const entry of manifest.tables) {
    progress.enter(entry.name);
    const file = await checkFile(folder, tableFileName(entry.name), entry, signal);
    for await (const { lines } of lineBatches(file)) {
      signal.throwIfAborted();
      const rows = lines.map((line): Row => rowOf(entry, line));
      if (entry.name === 'sandboxes') for (const { id } of rows) sandboxIds.add(String(id));
      progress.advance(rows.length);
    }
  }
  await checkFiles(folder, manifest, sandboxIds, options);
  return { folder, manifest, digest: createHash('sha256').update(bytes).digest('hex') };
}

async function checkFiles(
  folder: string,
  { files }: Manifest,
  sandboxIds: ReadonlySet<string>,
  { progress, signal }: CheckOptions,
): Promise<void> {
  await checkFile(folder, fileListName, files, signal);
  progress.enterFiles();
  let last: ListedFile | undefined;
  for await (const { file: listed } of listedFiles(folder)) {
    const { path: name, size, sandboxId } = listed;
    if (last !== undefined && !follows(listed, last)) throw damagedExport(fileListName, `contains ${name} out of order`);
    last = listed;
    if (sandboxId === undefined) await checkFile(folder, name, { bytes: size, sha256: listed.sha256 }, signal);
    else {
      if (!sandboxIds.has(sandboxId)) throw damagedExport(fileListName, `contains ${name}, which belongs to no sandbox`);
      await checkArchive(folder, sandboxId, listed, signal);
    }
    progress.add(sandboxId === undefined ? 'files' : 'sandboxes', size);
  }
}

/** A file of the list, and where the next line begins. */
export interface ListLine {
  file: ListedFile;
  end: number;
}

/** The files of the list from a position. @throws AopsError `export_damaged` */
export async function* listedFiles(folder: string, start = 0): AsyncGenerator<ListLine> {
  let end = start;
  for await (const { lines } of lineBatches(path.join(folder, fileListName), start))
    for (const line of lines) {
      end += Buffer.byteLength(line) + 1;
      yield { file: parseFileEntry(line), end };
    }
}

/** The entries of an archive whose file is part of the export. @throws AopsError `export_damaged`, which names the file */
export async function checkArchive(folder: string, sandboxId: string, listed: FileEntry, signal: AbortSignal) {
  const file = plainFile(folder, listed.path, listed.size);
  return readArchive(file, sandboxId, listed, signal).catch((error: unknown) => {
    throw explained(error, file);
  });
}

/** Resolves to the place of the file. @throws AopsError `export_damaged`, which names the file */
export async function checkFile(
  folder: string,
  name: string,
  expected: Pick<LinesEntry, 'bytes' | 'sha256'>,
  signal: AbortSignal,
): Promise<string> {
  // A file of another size need not be read.
  const file = plainFile(folder, name, expected.bytes);
  const hash = createHash('sha256');
  await hashFile(file, hash, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw explained(error, file);
  });
  if (hash.digest('hex') !== expected.sha256) throw damagedExport(name, 'does not match its checksum');
  return file;
}

/** The place of a file that is not reached through a link. @throws AopsError `export_damaged` */
export function plainFile(folder: string, name: string, size: number): string {
  const parts = name.split('/');
  for (const [index] of parts.entries()) {
    const part = parts.slice(0, index + 1).join('/');
    const stats = lstatSync(path.join(folder, part), { throwIfNoEntry: false });
    if (stats === undefined) throw damagedExport(name, 'is missing');
    const isLast = index === parts.length - 1;
    if (isLast ? !stats.isFile() : !stats.isDirectory()) throw damagedExport(part, `is not a ${isLast ? 'file' : 'folder'}`);
    if (isLast && stats.size !== size) throw damagedExport(name, 'does not have the size that it should have');
  }
  return path.join(folder, name);
}

const explained = (error: unknown, file: string): unknown =>
  error instanceof Error && 'syscall' in error ? readFailure(error, file) : error;

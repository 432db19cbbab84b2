/**
 * Makes the folders of a sandbox equal to its record: removes what is not part of it, and writes what is missing or differs. No program
 * of the run may work in the folders meanwhile.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, readlink, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeTree } from '../../../base/remove-tree.ts';
import {
  byPath,
  isRecorded,
  isScanned,
  type KnownEntries,
  type KnownEntry,
  type RecordedEntry,
  type RecordedFile,
  runFolders,
} from './entries.ts';
import { fetchFiles, type OpenBytes } from './fetch.ts';
import { matches, type Scan, scanSandbox, stampOf, timeGranularity } from './scan.ts';

export interface RestoreParts {
  /** Opens a range of a stored file. */
  open: OpenBytes;
  signal: AbortSignal;
  /** What an earlier record says about files on this machine. */
  known?: KnownEntries;
  /** A new folder for incomplete files. */
  staging: string;
}

/**
 * @param home the folder of the sandbox, a real path
 * @returns the record, with what the system reports of the files
 * @throws StoredFileMissingError if a stored file no longer exists, because the record has changed
 */
export async function restoreSandbox(
  home: string,
  record: readonly RecordedEntry[],
  parts: RestoreParts,
): Promise<Map<string, KnownEntry>> {
  return stampEntries(home, await placeEntries(home, record, parts));
}

/** Does the same, for whoever does not compare the files with the record later. Resolves to what belongs into the folders. */
export async function placeEntries(home: string, record: readonly RecordedEntry[], parts: RestoreParts): Promise<RecordedEntry[]> {
  const { known = new Map(), signal, staging } = parts;
  const entries = record.filter(({ path: name }) => isScanned(name)).sort(byPath);
  const recorded = new Map(entries.map((entry) => [entry.path, entry]));
  await removeOthers(home, recorded);
  await mkdir(staging, { recursive: true, mode: 0o700 });
  try {
    const missing: RecordedFile[] = [];
    for (const entry of entries) {
      signal.throwIfAborted();
      const place = path.join(home, entry.path);
      if (entry.type === 'folder') await makeFolder(place);
      else if (entry.type === 'link') await makeLink(place, entry.target);
      else if (await isSameFile(place, entry, known.get(entry.path))) await adjust(place, entry);
      else missing.push(entry);
    }
    await fetchFiles(missing, parts.open, async (entry, bytes) => {
      signal.throwIfAborted();
      await placeFile(path.join(home, entry.path), path.join(staging, randomUUID()), entry, bytes);
    });
  } finally {
    await removeTree(staging);
  }
  // The contents of folders have changed their times, and some folders cannot be written to any more.
  for (const entry of entries.toReversed()) if (entry.type === 'folder') await adjust(path.join(home, entry.path), entry);
  return entries;
}

/** Finds everything in the folders, and makes all folders accessible. */
async function scanAll(home: string): Promise<Scan> {
  for (const opened = new Set<string>(); ; ) {
    const scan = await scanSandbox(home, new Map());
    const closed = scan.entries.flatMap(({ entry }) =>
      entry.type === 'folder' && (entry.mode & 0o700) !== 0o700 && !opened.has(entry.path) ? [entry.path] : [],
    );
    if (closed.length === 0) return scan;
    for (const name of closed) {
      opened.add(name);
      await chmod(path.join(home, name), 0o700).catch(() => undefined);
    }
  }
}

/** Removes entries that are not recorded, or not as what they are. */
async function removeOthers(home: string, recorded: ReadonlyMap<string, RecordedEntry>): Promise<void> {
  const { entries, files } = await scanAll(home);
  const found = [
    ...entries.map(({ entry: { type, path: name } }) => ({ type, path: name })),
    ...files.map((file) => ({ type: 'file', path: file.path })),
  ];
  let removedName: string | undefined;
  for (const { type, path: name } of found.sort(byPath)) {
    if (removedName !== undefined && name.startsWith(`${removedName}/`)) continue;
    const entry = recorded.get(name);
    if (entry?.type === type) continue;
    const isRunFolder = (runFolders as readonly string[]).includes(name);
    if (entry === undefined && isRunFolder && type === 'folder') continue;
    // What is never recorded is in folders that are left as they are.
    if (!isRecorded(name)) continue;
    await removeTree(path.join(home, name));
    removedName = name;
  }
}

async function makeFolder(place: string): Promise<void> {
  const stats = await lstat(place).catch(() => undefined);
  // For example a pipe, which is not recorded.
  if (stats !== undefined && !stats.isDirectory()) await rm(place, { force: true });
  await mkdir(place, { recursive: true, mode: 0o700 });
  // It might not be writable.
  await chmod(place, 0o700);
}

async function makeLink(place: string, target: string): Promise<void> {
  if ((await readlink(place).catch(() => undefined)) === target) return;
  await rm(place, { force: true });
  await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
  await symlink(target, place);
}

async function isSameFile(place: string, entry: RecordedFile, known: KnownEntry | undefined): Promise<boolean> {
  const stats = await lstat(place).catch(() => undefined);
  if (!stats?.isFile() || stats.size !== entry.size) return false;
  const knownFile = known?.entry.type === 'file' ? known.entry : undefined;
  if (knownFile !== undefined && matches(known?.stamp, stats)) return knownFile.sha256 === entry.sha256;
  return (await sumOfFile(place)) === entry.sha256;
}

/** Undefined if it cannot be read. */
async function sumOfFile(place: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(place)) hash.update(chunk as Uint8Array);
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}

async function placeFile(place: string, staged: string, entry: RecordedFile, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  await writeFile(staged, bytes, { flag: 'wx', mode: 0o600 });
  await adjust(staged, entry);
  await mkdir(path.dirname(place), { recursive: true, mode: 0o700 });
  await rename(staged, place);
}

/** Sets the time and the permissions of a file or folder. */
async function adjust(place: string, { mode, modifiedAt }: { mode: number; modifiedAt: number }): Promise<void> {
  await utimes(place, modifiedAt / 1_000, modifiedAt / 1_000);
  await chmod(place, mode);
}

/** Waits until later changes are noticed by their times. */
async function stampEntries(home: string, entries: readonly RecordedEntry[]): Promise<Map<string, KnownEntry>> {
  const found: { entry: RecordedEntry; stats: Stats | undefined }[] = [];
  for (const entry of entries) found.push({ entry, stats: entry.type === 'file' ? await lstat(path.join(home, entry.path)) : undefined });
  const changedAt = found.reduce((latest, { stats }) => Math.max(latest, stats?.ctimeMs ?? 0), 0);
  // A timer may end early by this clock. If the file system has another one, the files are read again instead.
  const lastTry = performance.now() + 2 * timeGranularity;
  while (Date.now() < changedAt + timeGranularity && performance.now() < lastTry) await delay(1);
  const now = Date.now();
  return new Map(found.map(({ entry, stats }) => [entry.path, { entry, stamp: stats && stampOf(stats, now) }]));
}

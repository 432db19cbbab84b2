/** Reads the files that a scan has found, and stores the bytes of those that are new. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { hostTrouble } from '../../host-trouble.ts';
import { readStart } from '../entry.ts';
import { isText, sniffLength } from '../file-kind.ts';
import { readWhole } from '../local-content.ts';
import { confirmOpen, hasCode, openFlags } from '../paths.ts';
import { Turn } from '../turn.ts';
import type { KnownEntries, KnownEntry, RecordedFile } from './entries.ts';
import { FilePacks, maxSmallBytes, type PutBytes } from './packs.ts';
import { type FoundFile, scanSandbox, stampOf } from './scan.ts';

const chunkBytes = 256 * 1024;

interface Capture {
  /** The files as they are recorded from now on, including those whose content has not changed. */
  entries: KnownEntry[];
  /** The keys of stored files that only these entries refer to. */
  keys: string[];
  /** Paths of files that this user cannot read, or that lead out of the sandbox. */
  unreadable: string[];
}

/** How the folders of a sandbox differ from its record. */
export interface FolderChanges extends Capture {
  /** Recorded paths that no longer exist. */
  removed: string[];
}

/** @param home the folder of the sandbox, a real path */
export async function captureChanges(home: string, known: KnownEntries, put: PutBytes): Promise<FolderChanges> {
  const scan = await scanSandbox(home, known);
  const { entries, keys, unreadable } = await captureFiles(home, scan.files, known, put);
  return { entries: [...scan.entries, ...entries], removed: scan.removed, keys, unreadable: [...scan.unreadable, ...unreadable] };
}

async function captureFiles(home: string, files: readonly FoundFile[], known: KnownEntries, put: PutBytes): Promise<Capture> {
  const capture: Capture = { entries: [], keys: [], unreadable: [] };
  const packs = new FilePacks(put);
  const turn = new Turn();
  for (const { path: name, stats } of files) {
    const earlier = known.get(name)?.entry;
    const earlierFile = earlier?.type === 'file' ? earlier : undefined;
    // Taken before the content, so that a later change is noticed.
    const found = { name, mode: stats.mode & 0o777, modifiedAt: Math.round(stats.mtimeMs), stamp: stampOf(stats, Date.now()) };
    const realPath = path.join(home, name);
    const bytes = stats.size <= maxSmallBytes ? readWhole(home, { realPath }, maxSmallBytes) : undefined;
    if (bytes !== undefined) await captureSmall(found, bytes, earlierFile, packs, capture);
    else await captureLarge(home, { ...found, realPath }, earlierFile, put, capture);
    await turn.yield();
  }
  await packs.flush();
  capture.keys.push(...packs.keys);
  return capture;
}

type Found = Pick<RecordedFile, 'mode' | 'modifiedAt'> & Pick<KnownEntry, 'stamp'> & { name: string };

/** @param content may be an earlier entry, of which nothing else is used */
const fileEntry = (
  { name, mode, modifiedAt }: Found,
  { size, sha256, isText, stored }: Pick<RecordedFile, 'size' | 'sha256' | 'isText' | 'stored'>,
): RecordedFile => ({ type: 'file', path: name, mode, modifiedAt, size, sha256, isText, stored });

/** Records a small file. */
async function captureSmall(
  found: Found,
  bytes: Buffer,
  earlier: RecordedFile | undefined,
  packs: FilePacks,
  { entries }: Capture,
): Promise<void> {
  const { stamp } = found;
  const size = bytes.length;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (earlier?.sha256 === sha256) entries.push({ entry: fileEntry(found, earlier), stamp });
  else if (size === 0) entries.push({ entry: fileEntry(found, { size, sha256, isText: true, stored: null }), stamp });
  else {
    const isText = isTextStart(bytes, size);
    await packs.add(bytes, (stored) => entries.push({ entry: fileEntry(found, { size, sha256, isText, stored }), stamp }));
  }
}

/** Whether the beginning of a file is text. @param size of the whole file, in bytes */
export const isTextStart = (bytes: Uint8Array, size: number): boolean => isText(bytes.subarray(0, sniffLength), size > sniffLength);

async function captureLarge(
  home: string,
  found: Found & { realPath: string },
  earlier: RecordedFile | undefined,
  put: PutBytes,
  capture: Capture,
): Promise<void> {
  const handle = await openInside(home, found, capture);
  if (handle === undefined) return;
  try {
    const { size } = await handle.stat();
    const isSame = earlier?.size === size && (await sumOf(handle)) === earlier.sha256;
    if (isSame) return void capture.entries.push({ entry: fileEntry(found, earlier), stamp: found.stamp });
    const isTextFile = isTextStart(await readStart(handle, Math.min(sniffLength, size)), size);
    const stored = await put(chunksOf(handle));
    capture.keys.push(stored.key);
    const content = { size: stored.size, sha256: stored.sha256, isText: isTextFile, stored: { key: stored.key, position: 0 } };
    capture.entries.push({ entry: fileEntry(found, content), stamp: found.stamp });
  } finally {
    await handle.close();
  }
}

/** Undefined if the file was removed or replaced meanwhile, which the next scan finds, or if it cannot be read. */
async function openInside(
  home: string,
  { name, realPath }: { name: string; realPath: string },
  capture: Capture,
): Promise<FileHandle | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(realPath, openFlags);
    const stats = await handle.stat();
    await confirmOpen(home, { displayPath: name, realPath, stats }, handle);
    if (stats.isFile()) return handle;
  } catch (error) {
    if (hostTrouble(error) !== undefined) throw error;
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) capture.unreadable.push(name);
  }
  await handle?.close();
  return undefined;
}

async function sumOf(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of chunksOf(handle)) hash.update(bytes);
  return hash.digest('hex');
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

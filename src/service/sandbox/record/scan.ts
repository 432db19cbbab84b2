/** Finds what differs between the folders of a sandbox and its record, without reading files. */
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import path from 'node:path';
import { hostTrouble } from '../../host-trouble.ts';
import { confirmNow, hasCode } from '../paths.ts';
import { Turn } from '../turn.ts';
import {
  isRecorded,
  isScanned,
  type KnownEntries,
  type KnownEntry,
  maxPathBytes,
  type RecordedLink,
  runFolders,
  type Stamp,
} from './entries.ts';

/** A file whose content may have changed. */
export interface FoundFile {
  path: string;
  stats: Stats;
}

export interface Scan {
  /** Folders and links that are new or have changed. */
  entries: KnownEntry[];
  files: FoundFile[];
  /** Recorded paths that no longer exist. */
  removed: string[];
  /** Paths that cannot be recorded: this user cannot read them, or their names are too long or not UTF-8. Their record remains. */
  unreadable: string[];
}

/** The granularity of the times of file systems, with a margin, in milliseconds. */
export const timeGranularity = 20;

/** @param home the folder of the sandbox, a real path @param known what is recorded */
export async function scanSandbox(home: string, known: KnownEntries): Promise<Scan> {
  const scan: Scan = { entries: [], files: [], removed: [], unreadable: [] };
  const seenPaths = new Set<string>();
  const turn = new Turn();
  const visit = (name: string): Stats | undefined => {
    seenPaths.add(name);
    const stats = lstatSync(path.join(home, name), { throwIfNoEntry: false });
    if (stats === undefined) seenPaths.delete(name);
    else compare(scan, home, name, stats, known.get(name));
    return stats;
  };
  const walk = async (folder: string): Promise<void> => {
    for (const name of namesIn(home, folder, scan)) {
      if (!isRecorded(name)) continue;
      if (Buffer.byteLength(name) > maxPathBytes || name.includes('\uFFFD')) scan.unreadable.push(name);
      else if (visit(name)?.isDirectory()) await walk(name);
      await turn.yield();
    }
  };
  for (const folder of runFolders) if (visit(folder)?.isDirectory()) await walk(folder);
  const isBelowUnreadable = (name: string): boolean => scan.unreadable.some((place) => name === place || name.startsWith(`${place}/`));
  for (const name of known.keys()) if (isScanned(name) && !seenPaths.has(name) && !isBelowUnreadable(name)) scan.removed.push(name);
  return scan;
}

/** The paths in a folder; none if it was removed meanwhile, or cannot be read. */
function namesIn(home: string, folder: string, scan: Scan): string[] {
  const place = path.join(home, folder);
  try {
    const names = readdirSync(place);
    // It might have been replaced with a link that leads out of the sandbox.
    confirmNow(home, place, folder);
    return names.sort().map((name) => `${folder}/${name}`);
  } catch (error) {
    if (hostTrouble(error) !== undefined) throw error;
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) scan.unreadable.push(folder);
    return [];
  }
}

function compare(scan: Scan, home: string, name: string, stats: Stats, known: KnownEntry | undefined): void {
  const modifiedAt = Math.round(stats.mtimeMs);
  const mode = stats.mode & 0o777;
  if (stats.isDirectory()) {
    const entry = { type: 'folder' as const, path: name, mode, modifiedAt };
    const isSame = known?.entry.type === 'folder' && known.entry.mode === mode && known.entry.modifiedAt === modifiedAt;
    if (!isSame) scan.entries.push({ entry, stamp: undefined });
  } else if (stats.isSymbolicLink()) {
    const entry = linkEntry(home, name, modifiedAt);
    if (entry !== undefined && !(known?.entry.type === 'link' && known.entry.target === entry.target))
      scan.entries.push({ entry, stamp: undefined });
  } else if (stats.isFile()) {
    const isSame = known?.entry.type === 'file' && known.entry.mode === mode && matches(known.stamp, stats);
    if (!isSame) scan.files.push({ path: name, stats });
  }
  // Sockets, pipes, and devices belong to the processes that use them.
}

/** Undefined if the link was removed meanwhile. */
function linkEntry(home: string, name: string, modifiedAt: number): RecordedLink | undefined {
  const place = path.join(home, name);
  try {
    const target = readlinkSync(place);
    const isInside = path.isAbsolute(target) && path.normalize(target).startsWith(home + path.sep);
    return { type: 'link', path: name, target: isInside ? path.relative(path.dirname(place), target) : target, modifiedAt };
  } catch {
    return undefined;
  }
}

export const matches = (stamp: Stamp | undefined, stats: Stats): boolean =>
  stamp !== undefined &&
  stamp.size === stats.size &&
  stamp.mtimeMs === stats.mtimeMs &&
  stamp.ctimeMs === stats.ctimeMs &&
  stamp.ino === stats.ino;

/** The stamp of a file that was read after its `stats`; undefined if a change might leave it as it is. @param now in milliseconds */
export const stampOf = (stats: Stats, now: number): Stamp | undefined =>
  stats.ctimeMs > now - timeGranularity ? undefined : { size: stats.size, mtimeMs: stats.mtimeMs, ctimeMs: stats.ctimeMs, ino: stats.ino };

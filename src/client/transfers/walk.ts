/** Lists everything below a folder of a run's sandbox, including folders, up to a limit. */
import type { SandboxFileEntry } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { tooDeep, treeLimits } from './local-names.ts';
import { inParallel } from './parallel.ts';
import { listRunFolder, parallelTransfers, type RunPlace } from './run-files.ts';

export interface Walk {
  /** The folder, in the service's spelling. */
  path: string;
  /** Folders come before their contents; each level is sorted by name. */
  entries: SandboxFileEntry[];
  /** Whether the list is complete, because neither limit was reached. */
  complete: boolean;
}

/**
 * @param bounds the maximum number of `entries`, and the `depth` of folders to list: 1 is the folder itself
 * @throws what `listRunFolder` throws; AopsError `too_deep`
 */
export async function walkRunTree(
  client: Client,
  run: RunPlace,
  path: string,
  bounds: { entries: number; depth: number | undefined },
  signal: AbortSignal,
): Promise<Walk> {
  const seenFolders = new Set<string>();
  const entries: SandboxFileEntry[] = [];
  let base = path;
  let complete = true;
  // Level by level, so that what is left out does not depend on which response arrives first.
  let level = [path];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === bounds.depth) return { path: base, entries, complete: false };
    // A folder that contains itself would be listed forever.
    if (depth > treeLimits.depth || level.some((folder) => seenFolders.has(folder))) throw tooDeep();
    const folders = level.slice(0, Math.max(1, bounds.entries - entries.length));
    for (const folder of folders) seenFolders.add(folder);
    const listings = await inParallel(folders, parallelTransfers, signal, (folder, folderSignal) =>
      listRunFolder(client, run, folder, folderSignal),
    );
    if (depth === 0 && listings[0]) base = listings[0].path;
    const newEntries = listings.flatMap((listing) => listing.entries);
    const capacity = bounds.entries - entries.length;
    entries.push(...newEntries.slice(0, capacity));
    if (newEntries.length > capacity || folders.length < level.length) complete = false;
    level = newEntries.slice(0, capacity).flatMap((entry) => (entry.type === 'directory' ? [entry.path] : []));
    if (entries.length >= bounds.entries) {
      complete &&= level.length === 0;
      break;
    }
  }
  return { path: base, entries, complete };
}

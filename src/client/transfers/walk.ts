/** Everything in a folder of a run's sandbox, folders too, up to a bound. */
import type { SandboxFileEntry } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { tooDeep, treeLimits } from './local-names.ts';
import { inParallel } from './parallel.ts';
import { listRunFolder, parallelTransfers, type RunPlace } from './run-files.ts';

export interface Walk {
  /** The folder that was walked, as the service writes it. */
  path: string;
  /** Folders before what is in them, each level by name. */
  entries: SandboxFileEntry[];
  /** Whether that is all there is: neither bound was met. */
  complete: boolean;
}

/**
 * @param bounds `entries` to find at the most, and `depth` of folders to look into: 1 is the folder itself
 * @throws what `listRunFolder` throws; AopsError `too_deep`
 */
export async function walkRunTree(
  client: Client,
  run: RunPlace,
  path: string,
  bounds: { entries: number; depth: number | undefined },
  signal: AbortSignal,
): Promise<Walk> {
  const seen = new Set<string>();
  const entries: SandboxFileEntry[] = [];
  let base = path;
  let complete = true;
  // Level by level, so that what a bound leaves out does not depend on which answer came first.
  let level = [path];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === bounds.depth) return { path: base, entries, complete: false };
    // A folder that is listed again would be listed for ever.
    if (depth > treeLimits.depth || level.some((folder) => seen.has(folder))) throw tooDeep();
    const looked = level.slice(0, Math.max(1, bounds.entries - entries.length));
    for (const folder of looked) seen.add(folder);
    const listings = await inParallel(looked, parallelTransfers, signal, (folder, either) => listRunFolder(client, run, folder, either));
    if (depth === 0 && listings[0]) base = listings[0].path;
    const found = listings.flatMap((listing) => listing.entries);
    const room = bounds.entries - entries.length;
    entries.push(...found.slice(0, room));
    if (found.length > room || looked.length < level.length) complete = false;
    level = found.slice(0, room).flatMap((entry) => (entry.type === 'directory' ? [entry.path] : []));
    if (entries.length >= bounds.entries) {
      complete &&= level.length === 0;
      break;
    }
  }
  return { path: base, entries, complete };
}

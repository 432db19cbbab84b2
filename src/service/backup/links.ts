/**
 * Where the symbolic links of a backup lead. A link may pass through other links of the same backup, so its target is followed step
 * by step, as the kernel would, and not judged by its text. Pure: it does not access the disk.
 */
import { posix } from 'node:path';

/** How many links are followed to find the end of one: as many as Linux follows (`path_resolution(7)`). */
const maxHops = 40;

/** Why a link does not belong in a backup, as the predicate of a sentence. */
export type LinkFault = 'leads out of its sandbox' | 'leads through too many other links';

const outside = Symbol('out');
const loop = Symbol('loop');
const tooLong = Symbol('too long');
type End = string | typeof outside | typeof loop | typeof tooLong;

/**
 * The faults of links, by name; valid links are not included. A loop is valid, because it leads nowhere.
 * @param links their targets by name; a name begins with `sandboxes/ID/` and does not pass through a link itself
 */
export function faultyLinks(links: ReadonlyMap<string, string>): Map<string, LinkFault> {
  const ends = new Map<string, End>();
  const faults = new Map<string, LinkFault>();
  for (const name of links.keys()) {
    const end = endOf(name, links, ends, 0);
    if (end === outside) faults.set(name, 'leads out of its sandbox');
    else if (end === tooLong) faults.set(name, 'leads through too many other links');
  }
  return faults;
}

/** The path at which a link ends, whether it exists or not. */
function endOf(link: string, links: ReadonlyMap<string, string>, ends: Map<string, End>, hops: number): End {
  const cachedEnd = ends.get(link);
  if (cachedEnd !== undefined) return cachedEnd;
  if (hops >= maxHops) return tooLong;
  // A link that leads back here while it is being followed is part of a loop.
  ends.set(link, loop);
  const end = follow(link, links, ends, hops);
  // Only the path from the first link was too long; from another link this one may still be followed.
  if (end === tooLong) ends.delete(link);
  else ends.set(link, end);
  return end;
}

function follow(link: string, links: ReadonlyMap<string, string>, ends: Map<string, End>, hops: number): End {
  const target = links.get(link) as string;
  if (target === '' || target.includes('\0') || posix.isAbsolute(target)) return outside;
  const home = `${link.split('/').slice(0, 2).join('/')}/`;
  let place = posix.dirname(link);
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      place = posix.dirname(place);
      // The path may pass through the folder of the sandbox itself, but not above it.
      if (!`${place}/`.startsWith(home)) return outside;
      continue;
    }
    place = `${place}/${part}`;
    if (!links.has(place)) continue;
    const end = endOf(place, links, ends, hops + 1);
    if (typeof end !== 'string') return end;
    place = end;
  }
  return place.startsWith(home) ? place : outside;
}

/**
 * Where the symbolic links of a backup really lead. A link may pass through other links of the same backup, so its target is
 * followed step by step, as the kernel would, and never by its text alone. Pure: nothing on the disk is looked at.
 */
import { posix } from 'node:path';

/** Links that are followed to find the end of one, as many as Linux follows (`path_resolution(7)`). */
const mostHops = 40;

/** Why a link does not belong in a backup, as half a sentence. */
export type LinkFault = 'leads out of its sandbox' | 'leads through too many other links';

const out = Symbol('out');
const loop = Symbol('loop');
const tooLong = Symbol('too long');
type End = string | typeof out | typeof loop | typeof tooLong;

/**
 * What is wrong with links, by name; nothing is said about good ones. A loop is good: it leads nowhere.
 * @param links their targets by name; names begin with `sandboxes/ID/` and pass through no link themselves
 */
export function faultyLinks(links: ReadonlyMap<string, string>): Map<string, LinkFault> {
  const ends = new Map<string, End>();
  const faults = new Map<string, LinkFault>();
  for (const name of links.keys()) {
    const end = endOf(name, links, ends, 0);
    if (end === out) faults.set(name, 'leads out of its sandbox');
    else if (end === tooLong) faults.set(name, 'leads through too many other links');
  }
  return faults;
}

/** The place at which a link ends, whether anything is there or not. */
function endOf(link: string, links: ReadonlyMap<string, string>, ends: Map<string, End>, hops: number): End {
  const known = ends.get(link);
  if (known !== undefined) return known;
  if (hops >= mostHops) return tooLong;
  // Whoever comes back here while it is being followed goes round in circles.
  ends.set(link, loop);
  const end = follow(link, links, ends, hops);
  // Only the way from the first link was too long; from elsewhere this one can still be followed.
  if (end === tooLong) ends.delete(link);
  else ends.set(link, end);
  return end;
}

function follow(link: string, links: ReadonlyMap<string, string>, ends: Map<string, End>, hops: number): End {
  const target = links.get(link) as string;
  if (target === '' || target.includes('\0') || posix.isAbsolute(target)) return out;
  const home = `${link.split('/').slice(0, 2).join('/')}/`;
  let place = posix.dirname(link);
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      place = posix.dirname(place);
      // On its way it may be in the folder of the sandbox itself, but not above it.
      if (!`${place}/`.startsWith(home)) return out;
      continue;
    }
    place = `${place}/${part}`;
    if (!links.has(place)) continue;
    const end = endOf(place, links, ends, hops + 1);
    if (typeof end !== 'string') return end;
    place = end;
  }
  return place.startsWith(home) ? place : out;
}

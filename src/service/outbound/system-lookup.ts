/**
 * The lookup of the system for names that are specified from outside. A lookup occupies a thread of the process until the name
 * servers respond or the resolver gives up, which can take many seconds, and there are few of these threads. So that names without
 * working servers do not let all others wait, everybody who asks for a name at the same time shares one lookup, and few names whose
 * servers did not respond are looked up again at the same time.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BoundedCache } from '../../base/bounded-cache.ts';
import { type Clock, steadyTime, systemClock } from '../../base/clock.ts';
import { SingleFlight } from '../../base/single-flight.ts';

/** All addresses of a name, like `dns.lookup` with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Result = Parameters<Parameters<Lookup>[2]>;

/** A lookup that fails after this time, in milliseconds, has not got a response. */
const slowTime = 1_000;
/** How many names that failed slowly are looked up at a time. `aops serve` can look up eight names at a time. */
const maxSlowLookups = 2;
/** How many of these names are remembered. */
const maxSlowNames = 10_000;

/** @param clock measures how long a lookup takes */
export function createSystemLookup(clock: Clock): Lookup {
  const inProgress = new SingleFlight<Result>();
  const slowNames = new BoundedCache<true>(maxSlowNames);
  /** Those that wait until fewer slow names are looked up. */
  const waiting: (() => void)[] = [];
  let slowLookups = 0;

  const lookUp = async (name: string, options: LookupOptions & { all: true }): Promise<Result> => {
    const startTime = steadyTime(clock);
    const result = await new Promise<Result>((resolve) => lookup(name, options, (...parts) => resolve(parts)));
    slowNames.delete(name);
    // One that succeeds has perhaps only waited for a thread.
    if (result[0] !== null && steadyTime(clock) - startTime >= slowTime) slowNames.set(name, true);
    return result;
  };
  const lookUpSlowName = async (name: string, options: LookupOptions & { all: true }): Promise<Result> => {
    if (slowLookups === maxSlowLookups) await new Promise<void>((resolve) => waiting.push(resolve));
    else slowLookups += 1;
    try {
      return await lookUp(name, options);
    } finally {
      const next = waiting.shift();
      if (next === undefined) slowLookups -= 1;
      else next();
    }
  };

  return (host, options, callback) => {
    const name = host.toLowerCase();
    const key = JSON.stringify([name, options.family, options.hints, options.order, options.verbatim]);
    const result = inProgress.run(key, () => (slowNames.has(name) ? lookUpSlowName(name, options) : lookUp(name, options)));
    // Not in the promise: an error of the callback is not one of the lookup.
    void result.then((result) => setImmediate(callback, ...result));
  };
}

export const systemLookup: Lookup = createSystemLookup(systemClock);

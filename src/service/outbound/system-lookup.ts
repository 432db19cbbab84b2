/** The lookup of the system for names that are specified from outside. */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { SingleFlight } from '../../base/single-flight.ts';

/** All addresses of a name, like `dns.lookup` with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Result = Parameters<Parameters<Lookup>[2]>;

const inProgress = new SingleFlight<Result>();

/**
 * Looks up a name, together with everybody who does so at the same time: a lookup occupies a thread of the process until its name
 * servers respond, which can take many seconds, and there are few of these threads. Otherwise, the deliveries to one name without
 * working servers would let all others wait.
 */
export const systemLookup: Lookup = (host, options, callback) => {
  const key = JSON.stringify([host.toLowerCase(), options.family, options.hints, options.order, options.verbatim]);
  const look = (): Promise<Result> => new Promise((resolve) => lookup(host, options, (error, addresses) => resolve([error, addresses])));
  // Not in the promise: an error of the callback is not one of the lookup.
  void inProgress.run(key, look).then((result) => setImmediate(callback, ...result));
};

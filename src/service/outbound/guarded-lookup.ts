/** Looks up names for connections to hosts that are specified from outside: only allowed addresses are used. */
import type { LookupOptions } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { type Lookup, systemLookup } from './system-lookup.ts';

/** The host is not allowed. Its message is half a sentence. */
export class HostNotAllowedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HostNotAllowedError';
  }
}

export interface Guard {
  /** Whether a host may be reached at an address. */
  allows: (host: string, address: string) => boolean;
  /** By default, the lookup of the system. */
  lookup?: Lookup | undefined;
  refuse: (host: string) => HostNotAllowedError;
}

/** Returns the allowed addresses, which are then used for the connection. */
export function guardedLookup({ allows, lookup = systemLookup, refuse }: Guard): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, results) => {
      if (error) return callback(error, []);
      const addresses = results.filter(({ address }) => allows(host, address));
      const [first] = addresses;
      if (first === undefined) return callback(refuse(host), []);
      if ((options as LookupOptions).all) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}

/** Connects to a host at an allowed address. Rejects with HostNotAllowedError, or the error of the connection. @param milliseconds the limit */
export function guardedConnect(guard: Guard, { host, port }: { host: string; port: number }, milliseconds: number): Promise<Socket> {
  // An IP address does not need a lookup.
  if (isIP(host) !== 0 && !guard.allows(host, host)) return Promise.reject(guard.refuse(host));
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: guardedLookup(guard), autoSelectFamily: true, timeout: milliseconds });
    socket.once('timeout', () => socket.destroy(new Error('The connection could not be established in time.')));
    // Errors after the connection are those of its user, who learns of them from its end.
    socket.on('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** A host without the brackets of an IPv6 address in a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

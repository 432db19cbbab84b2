/**
 * Limits the number of connections per address, so that one client leaves some for the others. Connections from this machine, which
 * may run a proxy that is not configured, and from trusted proxies are not counted: they carry the requests of many clients.
 */
import type { Socket } from 'node:net';
import { holderOf, parseAddress } from '../addresses.ts';

/** The addresses from which proxies on the same machine connect. */
const loopbackAddresses = new Set(['127.0.0.1', '::1']);

export class ConnectionShares {
  readonly #limit: number;
  readonly #isProxy: (address: string) => boolean;
  readonly #counts = new Map<string, number>();

  /** @param limit maximum number of simultaneous connections from one address */
  constructor(limit: number, isProxy: (address: string) => boolean) {
    this.#limit = limit;
    this.#isProxy = isProxy;
  }

  /** Counts a new connection until it closes; closes it immediately if its address has reached the limit. */
  admit(socket: Pick<Socket, 'remoteAddress' | 'destroy' | 'once'>): void {
    const address = parseAddress(socket.remoteAddress ?? '');
    // A connection that is already closed does not count.
    if (address === undefined || loopbackAddresses.has(address.toString()) || this.#isProxy(address.toString())) return;
    const holder = holderOf(address);
    const count = this.#counts.get(holder) ?? 0;
    if (count >= this.#limit) {
      socket.destroy();
      return;
    }
    this.#counts.set(holder, count + 1);
    socket.once('close', () => this.#release(holder));
  }

  #release(holder: string): void {
    const count = (this.#counts.get(holder) as number) - 1;
    if (count > 0) this.#counts.set(holder, count);
    else this.#counts.delete(holder);
  }
}

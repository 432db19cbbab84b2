/**
 * How many connections each address may hold, so that one client leaves some for the others. Not counted are those of this machine,
 * where a proxy may be that nobody has named, and those of proxies that are trusted: they carry the requests of many.
 */
import type { Socket } from 'node:net';
import { holderOf, parseAddress } from '../addresses.ts';

/** Where proxies of the same machine connect from. */
const own = new Set(['127.0.0.1', '::1']);

export class ConnectionShares {
  readonly #most: number;
  readonly #isProxy: (address: string) => boolean;
  readonly #held = new Map<string, number>();

  /** @param most connections of one address at the same time */
  constructor(most: number, isProxy: (address: string) => boolean) {
    this.#most = most;
    this.#isProxy = isProxy;
  }

  /** Counts a new connection until it closes; closes it at once when its address holds its share already. */
  admit(socket: Pick<Socket, 'remoteAddress' | 'destroy' | 'once'>): void {
    const address = parseAddress(socket.remoteAddress ?? '');
    // One that has gone already holds nothing.
    if (address === undefined || own.has(address.toString()) || this.#isProxy(address.toString())) return;
    const holder = holderOf(address);
    const held = this.#held.get(holder) ?? 0;
    if (held >= this.#most) {
      socket.destroy();
      return;
    }
    this.#held.set(holder, held + 1);
    socket.once('close', () => this.#free(holder));
  }

  #free(holder: string): void {
    const held = (this.#held.get(holder) ?? 1) - 1;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}

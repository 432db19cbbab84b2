/**
 * A rate limit for all nodes together. The database counts the requests of a caller. A node takes several of them at a time, so that
 * most requests need no query: twice as many each time, so that a node with few requests keeps few from the others, and fewer again
 * towards the limit, so that those that a node does not use are few. At most the limit is accepted, however many nodes there are.
 */
import type { Clock } from '../../base/clock.ts';
import { SingleFlight } from '../../base/single-flight.ts';
import type { RateWindows } from '../store/access/rate-windows.ts';
import { type RateLimit, RateLimiter } from './rate-limit.ts';

/** A node takes at most this part of what remains, rounded up. */
const maxShare = 1 / 20;

interface Share {
  /** The requests that all nodes have taken, as far as this one knows; at most the limit. */
  taken: number;
  /** How many of them this node has not used. */
  unused: number;
  /** How many it took last. */
  portion: number;
}

export class SharedRateLimiter extends RateLimiter {
  readonly #name: string;
  readonly #windows: RateWindows;
  /** In the current window, by caller. */
  #shares = new Map<string, Share>();
  readonly #queries = new SingleFlight<void>();

  /** @param name identifies the limit in the database */
  constructor(rate: RateLimit, clock: Clock, { name, windows }: { name: string; windows: RateWindows }) {
    super(rate, clock);
    this.#name = name;
    this.#windows = windows;
  }

  override take(caller: string): void | Promise<void> {
    this.turnWindow();
    const share = this.#shares.get(caller);
    if (share !== undefined && share.unused > 0) {
      share.unused -= 1;
      return undefined;
    }
    if (share !== undefined && share.taken >= this.limit) throw this.refusal(caller);
    // Requests at the same time may have used the portion, or the window may be over.
    return this.#queries.run(caller, () => this.#takePortion(caller)).then(() => this.take(caller));
  }

  protected override countOf(caller: string): number {
    const { taken, unused } = this.#shares.get(caller) ?? { taken: 0, unused: 0 };
    return taken - unused;
  }

  protected override forget(): void {
    this.#shares = new Map();
  }

  async #takePortion(caller: string): Promise<void> {
    const endsAt = this.turnWindow();
    const shares = this.#shares;
    const { taken: knownCount, portion: lastPortion } = shares.get(caller) ?? { taken: 0, portion: 0.5 };
    const portion = Math.min(lastPortion * 2, Math.max(1, Math.ceil((this.limit - knownCount) * maxShare)));
    const taken = await this.#windows.take(this.#name, caller, { endsAt, count: portion });
    const unused = Math.max(0, Math.min(portion, this.limit - (taken - portion)));
    // If the window is over, nobody looks at these shares any more.
    shares.set(caller, { taken: Math.min(taken, this.limit), unused, portion });
  }
}

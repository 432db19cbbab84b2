/** Deliveries that have arrived, and whose senders wait for an answer until they have been printed. */
import type { Clock } from '../../base/clock.ts';
import type { ReceivedDelivery } from '../../client/webhooks/receiver.ts';

export interface Arrival {
  /** The ID of the event. */
  id: string;
  delivery: ReceivedDelivery;
  answer: (status: number) => void;
}

export class Arrivals {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onArrival: () => void;
  #waiting: Arrival[] = [];
  #next = new AbortController();

  constructor({ clock, signal }: { clock: Clock; signal: AbortSignal }, onArrival: () => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onArrival = onArrival;
  }

  /** Adds a delivery. Resolves to the status of the response. */
  add(id: string, delivery: ReceivedDelivery): Promise<number> {
    return new Promise((answer) => {
      this.#waiting.push({ id, delivery, answer });
      this.#next.abort();
      this.#next = new AbortController();
      this.#onArrival();
    });
  }

  /** All that have arrived so far; they stay here until they are taken. */
  get waiting(): readonly Arrival[] {
    return this.#waiting;
  }

  /** Takes all deliveries of an event. */
  take(id: string): Arrival[] {
    const taken = this.#waiting.filter((arrival) => arrival.id === id);
    this.#waiting = this.#waiting.filter((arrival) => arrival.id !== id);
    return taken;
  }

  /** The same, after the first one has arrived, or this many milliseconds. @throws the signal's reason */
  async takeWithin(id: string, milliseconds: number): Promise<Arrival[]> {
    const end = this.#clock.now() + milliseconds;
    for (;;) {
      const taken = this.take(id);
      const remaining = end - this.#clock.now();
      if (taken.length > 0 || remaining <= 0) return taken;
      await this.#clock.sleep(remaining, AbortSignal.any([this.#signal, this.#next.signal])).catch(() => this.#signal.throwIfAborted());
    }
  }

  /** Refuses all that have arrived; their senders repeat them. */
  refuse(): void {
    for (const { answer } of this.#waiting.splice(0)) answer(503);
  }
}

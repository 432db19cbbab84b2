/** The pending requests, kept up to date in the background: further requests arrive while a prompt is open. */
import { deferred } from '../../base/deferred.ts';
import type { PendingRequest } from '../../cli/following/pending.ts';
import type { InboxEvent } from './events.ts';

/** Reads all pending requests. */
export type Load = () => Promise<PendingRequest[]>;

export class InboxFeed {
  #pending: PendingRequest[] = [];
  #failure: { error: unknown } | undefined;
  #change = deferred();

  /** @param watch polls with the function that it is passed, and yields the events */
  constructor(load: Load, watch: (load: Load) => AsyncIterable<InboxEvent>, onEvent: (event: InboxEvent) => void) {
    const loadAndStore = async (): Promise<PendingRequest[]> => {
      this.#pending = await load();
      this.#report();
      return this.#pending;
    };
    this.#follow(watch(loadAndStore), onEvent).catch((error: unknown) => {
      this.#failure = { error };
      this.#report();
    });
  }

  /** The requests as of the last poll, oldest first. @throws why polling ended */
  get pending(): readonly PendingRequest[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#pending;
  }

  /** The same, also after polling has ended. */
  get lastPending(): readonly PendingRequest[] {
    return this.#pending;
  }

  /** Resolves after the next poll, or when polling has ended. */
  nextPoll(): Promise<void> {
    return this.#change.promise;
  }

  async #follow(events: AsyncIterable<InboxEvent>, onEvent: (event: InboxEvent) => void): Promise<void> {
    for await (const event of events) onEvent(event);
  }

  #report(): void {
    const { resolve } = this.#change;
    this.#change = deferred();
    resolve();
  }
}

/** The pending requests of one or several profiles, kept up to date in the background: further requests arrive while a prompt is open. */
import { deferred } from '../../base/deferred.ts';
import type { PendingRequest } from '../../cli/following/pending-requests.ts';
import type { InboxEvent } from './events.ts';

/** Reads all pending requests. */
export type Load = () => Promise<PendingRequest[]>;

/** One inbox that is watched. */
export interface Source {
  /** The address of its service: requests with the same ID there are the same request. */
  origin: string;
  load: Load;
  /** Polls with the function that it is passed, and yields the events. */
  watch: (load: Load) => AsyncIterable<InboxEvent>;
}

/** A source and what it has read. */
interface Slot {
  origin: string;
  pending: readonly PendingRequest[];
}

interface Handlers {
  /** Called for each event of the inbox, one after the other for each source. */
  onEvent: (event: InboxEvent) => void | Promise<void>;
  /** Called when a source has failed. Returns the error that ends watching; undefined to continue with the other sources. */
  onFailure: (index: number, error: unknown) => unknown;
}

export class InboxFeed {
  readonly #slots: Slot[];
  readonly #handlers: Handlers;
  /** Requests that were reported as pending. */
  readonly #reported = new Set<string>();
  /** The number of the last event of all sources together. */
  #seq = 0;
  #failure: { error: unknown } | undefined;
  #change = deferred();

  /** @param starts open the sources. Of a request that several sources have, the first one's is used */
  constructor(starts: readonly (() => Promise<Source>)[], handlers: Handlers) {
    this.#handlers = handlers;
    this.#slots = starts.map(() => ({ origin: '', pending: [] }));
    for (const [index, start] of starts.entries()) void this.#follow(start, index);
  }

  /** The requests as of the last poll, oldest first. @throws why polling ended */
  get pending(): readonly PendingRequest[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.lastPending;
  }

  /** The same, also after polling has ended. */
  get lastPending(): readonly PendingRequest[] {
    const requests = new Map<string, PendingRequest>();
    for (const { origin, pending } of this.#slots)
      for (const request of pending) if (!requests.has(keyOf(origin, request.id))) requests.set(keyOf(origin, request.id), request);
    return [...requests.values()].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
  }

  /** Resolves after the next poll, or when polling has ended. */
  nextPoll(): Promise<void> {
    return this.#change.promise;
  }

  /** Waits until polling ends. @throws why */
  async end(): Promise<never> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      await this.nextPoll();
    }
  }

  async #follow(start: () => Promise<Source>, index: number): Promise<void> {
    const slot = this.#slots[index] as Slot;
    try {
      const { origin, load, watch } = await start();
      slot.origin = origin;
      const loadAndStore = async (): Promise<PendingRequest[]> => {
        const requests = await load();
        slot.pending = requests;
        this.#report();
        return requests;
      };
      // A single inbox has its own numbers, which continue when it is resumed.
      if (this.#slots.length === 1) for await (const event of watch(loadAndStore)) await this.#handlers.onEvent(event);
      else
        for await (const event of watch(loadAndStore))
          if (this.#isNews(slot, event)) await this.#handlers.onEvent({ ...event, seq: ++this.#seq });
    } catch (error) {
      const end = this.#handlers.onFailure(index, error);
      // What was pending when watching ended is still reported to the person.
      if (end === undefined) slot.pending = [];
      else this.#failure ??= { error: end };
      this.#report();
    }
  }

  /** Whether no other source has reported the same. */
  #isNews(slot: Slot, event: InboxEvent): boolean {
    const isResolved = event.type === 'human_request.resolved';
    const key = keyOf(slot.origin, isResolved ? event.data.human_request_id : event.data.human_request.id);
    const owner = this.#slots.find(({ origin, pending }) => pending.some(({ id }) => keyOf(origin, id) === key));
    if (isResolved) return owner === undefined && this.#reported.delete(key);
    if (event.type === 'human_request.reminder') return owner === slot;
    const isNew = !this.#reported.has(key);
    this.#reported.add(key);
    return isNew;
  }

  #report(): void {
    const { resolve } = this.#change;
    this.#change = deferred();
    resolve();
  }
}

const keyOf = (origin: string, id: string): string => `${origin} ${id}`;

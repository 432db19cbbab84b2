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
  /** The number of the reading that returned it, in the order in which the readings of all sources began. */
  reading: number;
}

interface Handlers {
  /** Called for each event of the inbox, one after the other for each source. */
  onEvent: (event: InboxEvent) => void | Promise<void>;
  /** Called when a source has failed. Returns the error that ends watching; undefined to continue with the other sources. */
  onFailure: (index: number, error: unknown) => unknown;
  isRefused?: IsRefused | undefined;
}

export class InboxFeed {
  readonly #slots: Slot[];
  readonly #handlers: Handlers;
  /** Requests that were reported as pending. */
  readonly #reported = new Set<string>();
  /** The readings that no longer returned a request. Other sources may still return it from readings that began earlier. */
  readonly #missingSince = new Map<string, number>();
  /** The number of readings that have begun. */
  #readings = 0;
  /** The number of the last event of all sources together. */
  #seq = 0;
  #failure: { error: unknown } | undefined;
  #change = deferred();

  /** @param starts open the sources */
  constructor(starts: readonly (() => Promise<Source>)[], handlers: Handlers) {
    this.#handlers = handlers;
    this.#slots = starts.map(() => ({ origin: '', pending: [], reading: 0 }));
    for (const [index, start] of starts.entries()) void this.#follow(start, index);
  }

  /** The requests as of the last poll, oldest first. @throws why polling ended */
  get pending(): readonly PendingRequest[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.lastPending;
  }

  /** The same, also after polling has ended. */
  get lastPending(): readonly PendingRequest[] {
    return oldestFirst(this.#merged());
  }

  #merged(): Map<string, PendingRequest> {
    const entries = this.#slots.flatMap((slot) => {
      const keyed = slot.pending.map((request) => [requestKey(slot.origin, request.id), request] as const);
      return keyed.filter(([key]) => !this.#isOutdated(slot, key));
    });
    return mergeRequests(entries, this.#handlers.isRefused);
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
        this.#readings += 1;
        const reading = this.#readings;
        const requests = await load();
        this.#store(slot, requests, reading);
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
      if (end === undefined) Object.assign(slot, { pending: [], reading: Number.POSITIVE_INFINITY });
      else this.#failure ??= { error: end };
      this.#report();
    }
  }

  #store(slot: Slot, requests: readonly PendingRequest[], reading: number): void {
    const ids = new Set(requests.map(({ id }) => id));
    for (const { id } of slot.pending) if (!ids.has(id)) this.#missingSince.set(requestKey(slot.origin, id), reading);
    Object.assign(slot, { pending: requests, reading });
    const oldestReading = Math.min(...this.#slots.map((other) => other.reading));
    for (const [key, since] of this.#missingSince) if (since <= oldestReading) this.#missingSince.delete(key);
    this.#report();
  }

  /** Whether another source knows from a later reading that a request of this one is no longer pending. */
  #isOutdated = ({ reading }: Slot, key: string): boolean => reading < (this.#missingSince.get(key) ?? 0);

  /** Whether no other source has reported the same. */
  #isNews(slot: Slot, event: InboxEvent): boolean {
    const isResolved = event.type === 'human_request.resolved';
    const key = requestKey(slot.origin, isResolved ? event.data.human_request_id : event.data.human_request.id);
    const shown = this.#merged().get(key);
    if (isResolved) return shown === undefined && this.#reported.delete(key);
    if (shown === undefined) return false;
    if (event.type === 'human_request.reminder') return slot.pending.includes(shown);
    if (this.#reported.has(key)) return false;
    this.#reported.add(key);
    return true;
  }

  #report(): void {
    const { resolve } = this.#change;
    this.#change = deferred();
    resolve();
  }
}

/** Whether answers by the profile of a request were refused. */
export type IsRefused = (request: PendingRequest) => boolean;

/**
 * The requests of several profiles by their keys. If several profiles have a request, the first one's is used whose answers were not
 * refused.
 */
export function mergeRequests(
  entries: Iterable<readonly [key: string, request: PendingRequest]>,
  isRefused: IsRefused = () => false,
): Map<string, PendingRequest> {
  const requests = new Map<string, PendingRequest>();
  for (const [key, request] of entries) {
    const other = requests.get(key);
    if (other === undefined || (isRefused(other) && !isRefused(request))) requests.set(key, request);
  }
  return requests;
}

export const oldestFirst = (requests: ReadonlyMap<string, PendingRequest>): PendingRequest[] =>
  [...requests.values()].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));

/** Services choose IDs, so two of them could have the same. Several profiles can have the same request. */
export const requestKey = (origin: string, id: string): string => `${origin} ${id}`;

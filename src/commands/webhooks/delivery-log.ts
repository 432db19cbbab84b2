/**
 * The deliveries of a webhook in the order in which the service recorded them, each of them once. The position is the last ones that
 * were taken: several, because the service may list one a moment after others that were recorded later. A busy service can record many
 * others in that moment, so a reader that is not interrupted remembers more of them.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import type { TakenDelivery } from '../../watch/resume/points.ts';

/** The largest `limit` of listWebhookDeliveries. */
const pageSize = 100;
/** The number of deliveries in a position, unless the first of them was late. */
const positionLength = 20;
/** How long a delivery is remembered after it was taken, in milliseconds, and how many are at most: those of five pages. */
const memoryMilliseconds = 10_000;
const maxRemembered = 500;

/** Reads a page of the list, newest first. */
export type ReadDeliveries = (limit: number, offset: number) => Promise<{ deliveries: WebhookDelivery[]; total: number }>;

interface Remembered extends TakenDelivery {
  /** In steady time. */
  takenAt: number;
  /** Whether another one that was recorded later, or in the same millisecond, had been taken before. */
  isLate: boolean;
}

export class DeliveryLog {
  readonly #read: ReadDeliveries;
  readonly #clock: Clock;
  /** The deliveries that were taken last, in this order. The first one was not late, so all others before it have been taken. */
  #remembered: Remembered[] = [];
  #latestTime = Number.NEGATIVE_INFINITY;
  #isComplete = true;

  /** @param taken the last deliveries before the position, oldest first; none to begin with the first one in the list */
  constructor(read: ReadDeliveries, clock: Clock, taken: readonly TakenDelivery[] = []) {
    this.#read = read;
    this.#clock = clock;
    for (const delivery of taken) this.#remember(delivery, Number.NEGATIVE_INFINITY);
  }

  /** The position: the last deliveries that were taken, in this order. */
  get taken(): readonly TakenDelivery[] {
    return this.#since(this.#remembered.length - positionLength).map(({ id, createdAt }) => ({ id, createdAt }));
  }

  /** Whether the last reading has found the position in the list, so that no delivery after it has been removed. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Takes everything that the service has recorded. */
  async skip(): Promise<void> {
    for (const delivery of (await this.#read(positionLength, 0)).deliveries.toReversed()) this.take(delivery);
  }

  /** The deliveries that were not taken, oldest first. */
  async untaken(): Promise<WebhookDelivery[]> {
    this.#forget();
    const takenIds = new Set(this.#remembered.map(({ id }) => id));
    const [oldest] = this.#remembered;
    const found = new Map<string, WebhookDelivery>();
    let hasFoundPosition = false;
    pages: for (let offset = 0; ; ) {
      const { deliveries, total } = await this.#read(pageSize, offset);
      for (const delivery of deliveries) {
        const { id, created_at } = delivery;
        if (takenIds.has(id)) hasFoundPosition = true;
        else if (oldest !== undefined && Date.parse(created_at) < oldest.createdAt) break pages;
        // New deliveries move others to the next page.
        else found.set(id, delivery);
        if (id === oldest?.id) break pages;
      }
      offset += deliveries.length;
      if (deliveries.length === 0 || offset >= total) break;
    }
    this.#isComplete = oldest === undefined || hasFoundPosition;
    return [...found.values()].toReversed();
  }

  /** Moves the position behind a delivery. */
  take({ id, created_at }: Pick<WebhookDelivery, 'id' | 'created_at'>): void {
    this.#remember({ id, createdAt: Date.parse(created_at) }, steadyTime(this.#clock));
  }

  #remember(delivery: TakenDelivery, takenAt: number): void {
    const { createdAt } = delivery;
    this.#remembered.push({ ...delivery, takenAt, isLate: createdAt <= this.#latestTime });
    this.#latestTime = Math.max(this.#latestTime, createdAt);
  }

  /** Keeps the position, and what was taken a moment ago. */
  #forget(): void {
    const { length } = this.#remembered;
    const since = steadyTime(this.#clock) - memoryMilliseconds;
    const firstRecent = this.#remembered.findIndex(({ takenAt }) => takenAt > since);
    const firstNeeded = Math.max(firstRecent < 0 ? length : firstRecent, length - (maxRemembered - positionLength));
    this.#remembered = this.#since(Math.min(firstNeeded, length - positionLength));
  }

  /**
   * What was taken from an index on, or from the last one before it that was not late. After the clock of the service was set back, all are
   * late for a while, so it does not look far.
   */
  #since(index: number): Remembered[] {
    const start = Math.max(0, index);
    let first = start;
    while (first > 0 && start - first < positionLength && this.#remembered[first]?.isLate) first -= 1;
    return this.#remembered.slice(first);
  }
}

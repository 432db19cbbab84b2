/**
 * The deliveries of a webhook in the order in which the service recorded them, each of them once. The position is the last ones that
 * were taken: several, because the service may list one a moment after another that was recorded later.
 */
import type { WebhookDelivery } from '../../interface/types.ts';
import type { TakenDelivery } from '../../watch/resume/points.ts';

/** The largest `limit` of listWebhookDeliveries. */
const pageSize = 100;
/** The number of deliveries in a position. */
const maxTaken = 20;

/** Reads a page of the list, newest first. */
export type ReadDeliveries = (limit: number, offset: number) => Promise<{ deliveries: WebhookDelivery[]; total: number }>;

export class DeliveryLog {
  readonly #read: ReadDeliveries;
  #taken: readonly TakenDelivery[];
  #isComplete = true;

  /** @param taken the last deliveries before the position, oldest first; none to begin with the first one in the list */
  constructor(read: ReadDeliveries, taken: readonly TakenDelivery[] = []) {
    this.#read = read;
    this.#taken = taken;
  }

  /** The position: the last deliveries that were taken, oldest first. */
  get taken(): readonly TakenDelivery[] {
    return this.#taken;
  }

  /** Whether the last reading has found the position in the list, so that no delivery after it has been removed. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Takes everything that the service has recorded. */
  async skip(): Promise<void> {
    for (const delivery of (await this.#read(maxTaken, 0)).deliveries.toReversed()) this.take(delivery);
  }

  /** The deliveries that were not taken, oldest first. */
  async untaken(): Promise<WebhookDelivery[]> {
    const takenIds = new Set(this.#taken.map(({ id }) => id));
    const [oldest] = this.#taken;
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
    this.#taken = [...this.#taken, { id, createdAt: Date.parse(created_at) }].slice(-maxTaken);
  }
}

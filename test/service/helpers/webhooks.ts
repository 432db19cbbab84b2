/** Deliveries of a service under test, by a clock that stands still. */
import type { WebhookDelivery } from '../../../src/interface/types.ts';
import { afterTest } from '../../support/temporary.ts';
import { Receiver } from '../../support/webhook-receiver.ts';
import { type ManualClock, within } from './clock.ts';
import type { Api } from './service.ts';

/** A receiver that ends with the test. */
export async function receiver(): Promise<Receiver> {
  const hookReceiver = await Receiver.start();
  afterTest(() => hookReceiver.close());
  return hookReceiver;
}

export const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];

export async function deliveries(service: Api, query: object = {}): Promise<WebhookDelivery[]> {
  return (await service.ok('listWebhookDeliveries', { query: query as never })).deliveries;
}

/** The newest delivery once it is as wanted. */
export async function delivery(
  service: Api,
  predicate: (delivery: WebhookDelivery) => boolean,
  query: object = {},
): Promise<WebhookDelivery> {
  for (;;) {
    const [newest] = await deliveries(service, query);
    if (newest !== undefined && predicate(newest)) return newest;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Jumps to the next attempt of a pending delivery, and returns what became of it. */
export async function nextAttempt(service: Api, clock: ManualClock, before: WebhookDelivery): Promise<WebhookDelivery> {
  clock.set(Math.max(clock.now(), Date.parse(before.next_attempt_at as string)));
  let now = before;
  await within(10_000, clock, async () => {
    now = (await service.ok('getWebhookDelivery', { params: { deliveryId: before.id } })).delivery;
    return now.attempt_count > before.attempt_count;
  });
  return now;
}

/**
 * Prints the deliveries of a webhook as the service lists them, so that the stream can be continued after any of them. What arrives here
 * is verified, and acknowledged once it has been printed.
 */
import { deferred } from '../../base/deferred.ts';
import { outageNotes } from '../../cli/following/outage.ts';
import type { Resumption } from '../../cli/following/resumption.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import type { WebhookDelivery, WebhookEventKind } from '../../interface/types.ts';
import { Pace } from '../../watch/pace.ts';
import { type Call, callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import type { DeliveriesPoint } from '../../watch/resume/points.ts';
import { encodeToken } from '../../watch/resume/token.ts';
import { type Arrival, Arrivals } from './arrivals.ts';
import { DeliveryLog } from './delivery-log.ts';
import { ListenerOutput } from './listener-output.ts';
import { kindOf } from './received.ts';

interface Input {
  resumption: Resumption<DeliveriesPoint>;
  port: number;
  secrets: readonly Uint8Array[];
  until: WebhookEventKind | undefined;
  /** The ID of a webhook, or what makes a temporary one send to the address of the listener, and returns its ID. */
  webhook: string | ((url: string) => Promise<string>);
}

/** Pauses between readings of the list while nothing arrives, in milliseconds. */
const pauses = { minimum: 1_000, maximum: 5_000 };
/** How long a delivery that the service is sending here may take to arrive, in milliseconds. Then it is printed as it is listed. */
const arrivalTime = 2_000;
/** Number of IDs of answered deliveries to remember. */
const rememberedIds = 10_000;

/**
 * Prints deliveries until the signal is aborted, or until an event of the wanted type. Closes the positions of the resumption.
 * @throws what `webhook` throws; the signal's reason
 */
export async function followDeliveries(context: Context, { resumption, port, secrets, until, webhook }: Input): Promise<void> {
  const { clock, signal, terminal } = context;
  const { point } = resumption;
  const isTemporary = typeof webhook !== 'string';
  let webhookId = isTemporary ? '' : webhook;
  const output = new ListenerOutput(context, {
    resumption,
    tokenOf: (seq) => encodeToken({ stream: 'deliveries', seq, webhookId, taken: log.taken }),
  });
  const pace = new Pace(clock, pauses);
  const arrivals = new Arrivals(context, () => pace.hurry());
  const client = await context.client();
  const call = callAtPace(client, pace, signal);
  const params = { teamId: context.teamId() };
  const throughOutages = <Result>(read: () => Promise<Result>): Promise<Result> =>
    retryThroughOutages(read, { clock, signal, onOutage: outageNotes(context) })();
  const log = new DeliveryLog(
    (limit, offset) => {
      // Every arrival is read about once, so only looking for others is limited.
      const catchesUp = arrivals.waiting.length > 0;
      return call('listWebhookDeliveries', { params, query: { subscription_id: webhookId, limit, offset } }, { catchesUp });
    },
    clock,
    point?.taken,
  );
  const begin = deferred();
  let hasBegun = false;
  /** Why a delivery that was rejected could not be printed. */
  let failure: { error: unknown } | undefined;
  const onDelivery = async (delivery: ReceivedDelivery): Promise<number> => {
    if (delivery.verdict.valid) return arrivals.add(delivery.verdict.id, delivery);
    await begin.promise;
    if (!hasBegun) return 503;
    await output.show({ delivery }).catch((error: unknown) => {
      failure ??= { error };
      pace.hurry();
    });
    return 400;
  };
  const answered = new AnsweredIds();
  const acknowledge = (arrived: readonly Arrival[]): void => {
    for (const { id, answer } of arrived) {
      answer(204);
      answered.add(id);
    }
  };
  let receiver: Awaited<ReturnType<typeof receiveWebhooks>> | undefined;
  try {
    if (point === undefined && !isTemporary) await throughOutages(() => log.skip());
    receiver = await receiveWebhooks({ port, secrets, clock, onDelivery });
    if (isTemporary) webhookId = await webhook(receiver.url);
    const startedAt = clock.now();
    await output.begin();
    await output.announce(receiver.url);
    hasBegun = true;
    begin.resolve();
    for (let isFirst = true; ; isFirst = false) {
      if (failure !== undefined) throw failure.error;
      // Whatever has arrived before the list is read is in the list, unless it was printed before.
      const held = [...arrivals.waiting];
      const untaken = await throughOutages(() => log.untaken());
      if (isFirst && !log.isComplete)
        terminal.warn('The service no longer lists the deliveries before the position, so some after it may be missing.');
      for (const listed of untaken) {
        const isComing = isTemporary && listed.attempt_count === 0 && Date.parse(listed.created_at) >= startedAt;
        const arrived = isComing ? await arrivals.takeWithin(listed.event_id, arrivalTime) : arrivals.take(listed.event_id);
        try {
          const delivery = arrived[0]?.delivery ?? (await throughOutages(() => readDelivery(call, params.teamId, listed)));
          log.take(listed);
          await output.show({ delivery, listed });
          acknowledge(arrived);
          if (kindOf(delivery) === until) return;
        } finally {
          // The sender repeats what may not have been printed.
          for (const { answer } of arrived) answer(503);
        }
      }
      for (const { id } of held) {
        const repeated = arrivals.take(id);
        // A temporary webhook is for trying things out, so what somebody sends again is printed, too.
        for (const { delivery } of isTemporary && answered.has(id) ? repeated : []) await output.show({ delivery });
        acknowledge(repeated);
      }
      await pace.pause(untaken.length > 0, signal, client.allowance);
    }
  } finally {
    begin.resolve();
    arrivals.refuse();
    await receiver?.close();
    output.close();
  }
}

/** The IDs of the deliveries that were acknowledged last. */
class AnsweredIds {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > rememberedIds && oldest !== undefined) this.#ids.delete(oldest);
  }
}

/** A delivery with its body, as far as the service has stored it: without headers. */
async function readDelivery(call: Call, teamId: string, { id, event_id }: WebhookDelivery): Promise<ReceivedDelivery> {
  const { delivery } = await call('getWebhookDelivery', { params: { teamId, deliveryId: id } }, { catchesUp: true });
  const verdict = { valid: true as const, id: event_id, timestamp: null, age_seconds: 0 };
  return { verdict, duplicate: false, headers: [], body: Buffer.from(JSON.stringify(delivery.payload)) };
}

/**
 * `webhooks listen --webhook`: prints the deliveries of a webhook as the service lists them, so that the stream can be continued after
 * any of them. What arrives here is verified and acknowledged once it has been printed.
 */
import { UsageError } from '../../base/errors.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { closePositions, openResumption, savePosition } from '../../cli/following/resumption.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Client } from '../../client/client.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import type { WebhookDelivery, WebhookEventKind } from '../../interface/types.ts';
import { EventSequence } from '../../watch/envelope.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import { encodeToken, foreignToken, pointOf } from '../../watch/resume/token.ts';
import { DeliveryLog } from './delivery-log.ts';
import { announce, show } from './listener-output.ts';
import { kindOf } from './received.ts';
import { findWebhook } from './record.ts';

interface Input {
  webhook: string;
  resume: string | undefined;
  port: number;
  secrets: readonly Uint8Array[];
  until: WebhookEventKind | undefined;
}

/** A delivery that has arrived, and whose sender waits for the answer. */
interface Arrival {
  delivery: ReceivedDelivery;
  answer: (status: number) => void;
}

/** Pauses between readings of the list while nothing arrives, in milliseconds. */
const pauses = { minimum: 1_000, maximum: 5_000 };

/**
 * Prints deliveries until the signal is aborted, or until an event of the wanted type.
 * @throws AopsError `webhook_not_found`; UsageError for a token that is invalid or of another webhook; the signal's reason
 */
export async function followDeliveries(context: Context, { webhook, resume, port, secrets, until }: Input): Promise<void> {
  const { clock, signal, terminal } = context;
  const { id: webhookId } = await readBeforeWatching(context, (reading) => findWebhook(reading, webhook));
  const { point, positions, endsInsideLine } = await openResumption(context, resume, { stream: 'deliveries', id: webhookId }, (token) => {
    const wanted = `webhook ${webhookId}`;
    const read = pointOf(token, 'deliveries', wanted);
    if (read.webhookId !== webhookId) throw foreignToken(read, wanted);
    return read;
  });
  const client = await context.client();
  const pace = new Pace(clock, pauses);
  const polling = { call: callAtPace(client, pace, signal) } as Pick<Client, 'call'>;
  const params = { teamId: context.teamId() };
  const throughOutages = <Result>(read: () => Promise<Result>): Promise<Result> =>
    retryThroughOutages(read, { clock, signal, onOutage: outageNotes(context) })();
  const log = new DeliveryLog(
    (limit, offset) => polling.call('listWebhookDeliveries', { params, query: { subscription_id: webhookId, limit, offset } }),
    point?.taken,
  );
  const sequence = new EventSequence(clock, point?.seq ?? 0);
  const tokenOf = (seq: number): string => encodeToken({ stream: 'deliveries', seq, webhookId, taken: log.taken });
  const arrivals: Arrival[] = [];
  const onDelivery = async (delivery: ReceivedDelivery): Promise<number> => {
    if (!delivery.verdict.valid) {
      await savePosition(terminal, positions, await show(context, sequence, { delivery, tokenOf }));
      return 400;
    }
    return new Promise((answer) => {
      arrivals.push({ delivery, answer });
      pace.hurry();
    });
  };
  let receiver: Awaited<ReturnType<typeof receiveWebhooks>> | undefined;
  try {
    if (point === undefined) await throughOutages(() => log.skip());
    receiver = await receiveWebhooks({ port, secrets, clock, onDelivery });
    if (endsInsideLine) await terminal.data('\n');
    await savePosition(terminal, positions, await announce(context, sequence, receiver.url, tokenOf));
    for (let isFirst = true; ; isFirst = false) {
      // Whatever has arrived before the list is read is in the list, unless it was printed before.
      const answered = arrivals.splice(0);
      try {
        const untaken = await throughOutages(() => log.untaken());
        if (isFirst && !log.isComplete)
          terminal.warn('The service no longer lists the deliveries before the position, so some after it may be missing.');
        for (const listed of untaken) {
          const arrived = answered.find(({ delivery }) => delivery.verdict.valid && delivery.verdict.id === listed.event_id)?.delivery;
          const delivery = arrived ?? (await throughOutages(() => readDelivery(polling, params.teamId, listed)));
          log.take(listed);
          await savePosition(terminal, positions, await show(context, sequence, { delivery, listed, tokenOf }));
          if (kindOf(delivery) === until) return;
        }
        for (const { answer } of answered.splice(0)) answer(204);
        await pace.pause(untaken.length > 0, signal, client.allowance);
      } finally {
        // The sender repeats what may not have been printed.
        for (const { answer } of answered) answer(503);
      }
    }
  } finally {
    for (const { answer } of arrivals.splice(0)) answer(503);
    await receiver?.close();
    closePositions(context, positions);
  }
}

/** A delivery with its body, as far as the service has stored it: without headers. */
async function readDelivery(client: Pick<Client, 'call'>, teamId: string, { id, event_id }: WebhookDelivery): Promise<ReceivedDelivery> {
  const { delivery } = await client.call('getWebhookDelivery', { params: { teamId, deliveryId: id } });
  const verdict = { valid: true as const, id: event_id, timestamp: null, age_seconds: 0 };
  return { verdict, duplicate: false, headers: [], body: Buffer.from(JSON.stringify(delivery.payload)) };
}

/** @throws UsageError for flags that --webhook excludes or requires */
export function checkFlags(input: {
  webhook?: unknown;
  resume?: unknown;
  subscribe: boolean;
  forwardTo?: unknown;
  route: readonly unknown[];
}): void {
  if (input.webhook === undefined) {
    if (input.resume === undefined) return;
    throw new UsageError('--resume requires --webhook.', 'Name the webhook whose deliveries are continued: --webhook ID.');
  }
  const excluded = [
    ...(input.subscribe ? ['--subscribe'] : []),
    ...(input.forwardTo === undefined ? [] : ['--forward-to']),
    ...(input.route.length === 0 ? [] : ['--route']),
  ];
  if (excluded.length > 0)
    throw new UsageError(
      `--webhook and ${excluded.join(' and ')} cannot be combined.`,
      '--webhook prints what the service has recorded, also if it was not delivered here. Leave out the others, or --webhook.',
    );
}

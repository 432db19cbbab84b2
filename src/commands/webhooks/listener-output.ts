/** What `webhooks listen` prints: objects for programs, and lines for people. */
import type { Context } from '../../cli/kit/context.ts';
import type { ReceivedDelivery } from '../../client/webhooks/receiver.ts';
import type { WebhookDelivery } from '../../interface/types.ts';
import type { Envelope, EventSequence } from '../../watch/envelope.ts';
import { deliveryLine, deliveryObject, type ForwardResult } from './received.ts';

/** The token after the event with this number; undefined if the stream cannot be resumed. */
export type TokenOf = ((seq: number) => string) | undefined;

interface Shown {
  delivery: ReceivedDelivery;
  /** The same in the list of the service. */
  listed?: WebhookDelivery;
  forwardResult?: ForwardResult;
  tokenOf?: TokenOf;
}

const forPrograms = ({ format }: Context): boolean => format === 'json' || format === 'ndjson';

/** Prints an event in the envelope of all streams, with the members of `data` next to it, and returns its token. */
async function print(
  context: Context,
  sequence: EventSequence,
  { type, ...data }: { type: string } & Record<string, unknown>,
  tokenOf: TokenOf,
) {
  const envelope = sequence.next<Envelope>({ type, data }, {}, tokenOf);
  // The members of `data` are repeated for programs that do not know the envelope.
  if (forPrograms(context)) await context.terminal.json({ ...envelope, ...data });
  return envelope.resume;
}

/** Prints where deliveries are received. Returns the token of the event, if there is one. */
export async function announce(context: Context, sequence: EventSequence, url: string, tokenOf?: TokenOf): Promise<string | null> {
  if (!forPrograms(context)) context.terminal.note(`Listening on ${url}. Press Ctrl-C to stop.`);
  return print(context, sequence, { type: 'listening', url }, tokenOf);
}

/** Prints a delivery. Returns the token of the event, if there is one. */
export async function show(
  context: Context,
  sequence: EventSequence,
  { delivery, listed, forwardResult, tokenOf }: Shown,
): Promise<string | null> {
  const { terminal, clock } = context;
  const at = new Date(clock.now()).toISOString();
  if (!forPrograms(context)) {
    if (!delivery.verdict.valid) terminal.warn(`Rejected: ${delivery.verdict.message} ${delivery.verdict.hint}`);
    else await terminal.line(deliveryLine(delivery, at, forwardResult, await terminal.out.styles()));
  }
  const object = {
    ...deliveryObject(delivery, at, forwardResult),
    ...(listed && { delivery_id: listed.id, created_at: listed.created_at }),
  };
  return print(context, sequence, object, tokenOf);
}

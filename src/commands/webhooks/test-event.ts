/** Signs a test event and sends it to an address from this machine. */

import { steadyTime } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { JsonObject } from '../../base/values.ts';
import { version } from '../../base/version.ts';
import type { Context } from '../../cli/kit/context.ts';
import { DryRunStop } from '../../client/dry-run.ts';
import { type Forwarded, Forwarder } from '../../client/webhooks/forward.ts';
import { signatureHeaders } from '../../client/webhooks/signature.ts';
import type { WebhookEventKind } from '../../interface/types.ts';

interface TestEvent {
  type: WebhookEventKind;
  data: JsonObject;
  url: string;
  teamId: string;
  /** The keys to sign with. */
  keys: readonly Uint8Array[];
}

export type PostedEvent = { url: string; body: string } & Forwarded;

/** Sends the event once. With --dry-run, throws what would be sent. */
export async function postTestEvent(
  context: Context,
  { type, data, url, teamId, keys }: TestEvent,
): Promise<{ eventId: string; posted: PostedEvent }> {
  const now = context.clock.now();
  const eventId = crypto().randomUUID();
  const event = { id: eventId, type, timestamp: new Date(now).toISOString(), team_id: teamId, test: true, data };
  const headers = { 'content-type': 'application/json', 'user-agent': `aops/${version}` };
  if (context.flags.dryRun) throw new DryRunStop({ method: 'POST', url, headers: { ...headers, 'webhook-id': eventId }, body: event });
  const body = JSON.stringify(event);
  const signature = signatureHeaders(keys, eventId, now, body);
  const forwarder = new Forwarder(() => steadyTime(context.clock));
  try {
    const request = { headers: Object.entries({ ...headers, ...signature }), body: Buffer.from(body) };
    return { eventId, posted: { url, body, ...(await forwarder.forward(url, request)) } };
  } finally {
    await forwarder.close();
  }
}

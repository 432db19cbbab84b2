/** Formats a received delivery as a line for people or as an object for programs. Pure. */
import { isObject, jsonValue, shorten } from '../../base/values.ts';
import type { Forwarded } from '../../client/webhooks/forward.ts';
import type { ReceivedDelivery } from '../../client/webhooks/receiver.ts';
import { type Verdict, webhookHeaders } from '../../client/webhooks/signature.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Styles } from '../../terminal/style.ts';

interface Event {
  type?: unknown;
  /** True for an event that was sent to test the receiver. */
  test?: unknown;
  data?: {
    run?: { id?: unknown; status?: unknown };
    run_id?: unknown;
    message?: { text_content?: unknown };
    human_request?: { title?: unknown };
    tool_call?: { name?: unknown };
    file?: { name?: unknown };
    build?: { name?: unknown };
    webhook?: { url?: unknown };
  };
}

/** Where a delivery was forwarded to, and with which result. */
export type ForwardResult = ({ url: string } & Forwarded) | undefined;

/** The event in a body; empty if the body is not a JSON object. */
function eventOf(body: Buffer): Event {
  const value = jsonValue(body.toString('utf8'));
  return isObject(value) ? value : {};
}

export const kindOf = ({ body }: ReceivedDelivery): string => {
  const { type } = eventOf(body);
  return typeof type === 'string' ? type : 'unknown';
};

/** The members of the events that `webhooks listen` prints, next to those of all streams. */
export const deliveryFields: readonly string[] = [
  ...['url', 'received_at', 'id', 'event', 'signed_at', 'duplicate', 'forwarded', 'headers', 'body'],
  ...['delivery_id', 'created_at', 'reason', 'message', 'hint'],
];

export function deliveryObject(
  delivery: ReceivedDelivery,
  at: string,
  forwardResult: ForwardResult,
): { type: string } & Record<string, unknown> {
  const { verdict, duplicate, body } = delivery;
  const names: readonly string[] = webhookHeaders;
  const headers = Object.fromEntries(
    delivery.headers.map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => names.includes(name ?? '')),
  );
  const common = { type: verdict.valid ? 'delivery' : 'refused', received_at: at };
  if (!verdict.valid) return { ...common, reason: verdict.reason, message: verdict.message, hint: verdict.hint };
  const forward = forwardResult === undefined ? {} : { forwarded: forwardResult };
  return {
    ...common,
    id: verdict.id,
    event: kindOf(delivery),
    signed_at: verdict.timestamp,
    duplicate,
    ...forward,
    headers,
    body: body.toString('utf8'),
  };
}

/** The delivery in an event that was printed before, with the time at which it was received; undefined for other events. */
export function deliveryOf(
  event: Record<string, unknown>,
): { delivery: ReceivedDelivery; at: string; forwardResult: ForwardResult } | undefined {
  const { type, id, signed_at, reason, message, hint, duplicate, headers, body, received_at, forwarded } = event;
  if (type !== 'delivery' && type !== 'refused') return undefined;
  const verdict = type === 'delivery' ? { valid: true, id, timestamp: signed_at, age_seconds: 0 } : { valid: false, reason, message, hint };
  const delivery = {
    verdict: verdict as Verdict,
    duplicate: duplicate === true,
    headers: Object.entries((headers ?? {}) as Record<string, string>),
    body: Buffer.from(typeof body === 'string' ? body : ''),
  };
  return { delivery, at: String(received_at), forwardResult: forwarded as ForwardResult };
}

/** The time, event, subject and result of a delivery in one line. */
export function deliveryLine(
  delivery: ReceivedDelivery,
  at: string,
  forwardResult: ForwardResult,
  { dim, accent, warning }: Styles,
): string {
  const { data = {}, test } = eventOf(delivery.body);
  const run = data.run?.id ?? data.run_id;
  const subject = [
    data.run?.status,
    data.message?.text_content,
    data.human_request?.title,
    data.tool_call?.name,
    data.file?.name,
    data.build?.name,
    data.webhook?.url,
  ].find((value): value is string => typeof value === 'string');
  return [
    dim(at.slice(11, 19)),
    accent(sanitizeLine(kindOf(delivery))),
    typeof run === 'string' ? dim(sanitizeLine(run)) : '',
    subject === undefined ? '' : shorten(sanitizeLine(subject), 60),
    test === true ? warning('(test)') : '',
    delivery.duplicate ? warning('(again)') : '',
    forwardResult === undefined ? '' : sanitizeLine(resultOf(forwardResult)),
  ]
    .filter((part) => part !== '')
    .join('  ');
}

/** `-> 202 POST /hook (12 ms)` */
function resultOf(result: NonNullable<ForwardResult>): string {
  const { pathname, search } = new URL(result.url);
  const outcome = 'status' in result ? String(result.status) : result.problem;
  return `-> ${outcome} POST ${pathname}${search} (${result.duration_ms} ms)`;
}

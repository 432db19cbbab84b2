/**
 * Verifies a delivery strictly by Standard Webhooks 1.0: times consist of digits only, the signature covers the raw bytes, and
 * signatures are compared in constant time. Needs no service and no network.
 */
import { crypto } from '../../base/crypto.ts';
import { formatDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { explainMismatch } from './explain.ts';
import { hmac, refusal, type Verdict } from './verdict.ts';

export const webhookHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Default for how old a delivery may be, or how far its time may be ahead, in milliseconds. */
export const defaultTolerance = 5 * 60 * 1_000;

export type { Verdict } from './verdict.ts';

export interface Delivery {
  headers: Iterable<readonly [name: string, value: string]>;
  /** The raw bytes as received. */
  body: Uint8Array;
}

export interface VerifyOptions {
  /** The keys, one of which must have signed the delivery. */
  secrets: readonly Uint8Array[];
  /** The time to compare with, in milliseconds. */
  now: number;
  /** Milliseconds. */
  tolerance?: number;
}

/** The key of a secret: `whsec_` and base64. @throws UsageError naming `name`, never echoing the secret */
export function secretKey(text: string, name: string): Uint8Array {
  const encodedKey = text.trim().replace(/^whsec_/, '');
  const key = Buffer.from(encodedKey, 'base64');
  // Decoding skips what is not base64, so that encoding again shows whether anything was skipped.
  if (key.length >= 16 && key.toString('base64') === encodedKey) return key;
  throw new UsageError(
    `${name} is not a webhook secret.`,
    'A secret consists of whsec_ and base64, as printed by `aops webhooks secret show --reveal --jq .secret`.',
  );
}

/** The headers with which a delivery is signed now (`at`, milliseconds), as by a service. */
export function signatureHeaders(secrets: readonly Uint8Array[], id: string, at: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  const sign = (key: Uint8Array): string => `v1,${Buffer.from(hmac(key, [`${id}.${timestamp}.${body}`])).toString('base64')}`;
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') };
}

/** Whether a delivery is genuine and recent, or else why it is not. */
export function verifyDelivery(delivery: Delivery, { secrets, now, tolerance = defaultTolerance }: VerifyOptions): Verdict {
  const signedHeaders = readHeaders(delivery.headers);
  if ('reason' in signedHeaders) return signedHeaders;
  const { id, timestamp, signatures } = signedHeaders;
  const signWith = (key: Uint8Array, body: Uint8Array): Uint8Array => hmac(key, [`${id}.${timestamp}.`, body]);
  if (!secrets.some((key) => matches(signatures, signWith(key, delivery.body))))
    return explainMismatch({ id, timestamp, body: delivery.body, secrets, matches: (mac) => matches(signatures, mac) });
  const sentAt = Number(timestamp) * 1_000;
  if (now - sentAt > tolerance) return timestampRefusal('too_old', now - sentAt, tolerance);
  if (sentAt - now > tolerance) return timestampRefusal('too_new', sentAt - now, tolerance);
  return { valid: true, id, timestamp: new Date(sentAt).toISOString(), age_seconds: Math.floor((now - sentAt) / 1_000) };
}

function matches(signatures: readonly Uint8Array[], expectedSignature: Uint8Array): boolean {
  // All are compared, so that the time it takes does not reveal which one matched.
  return signatures.map((signature) => crypto().timingSafeEqual(signature, expectedSignature)).includes(true);
}

type HeadersResult = { id: string; timestamp: string; signatures: Uint8Array[] } | Extract<Verdict, { valid: false }>;

function readHeaders(headers: Delivery['headers']): HeadersResult {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.trim().toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value.trim()]);
  }
  for (const name of webhookHeaders) {
    const headerValues = values.get(name) ?? [];
    if (headerValues.length === 0 || headerValues[0] === '')
      return refusal('missing_header', `The header ${name} is missing.`, missingHint(values));
    if (headerValues.length > 1)
      return refusal('malformed_header', `The header ${name} appears ${headerValues.length} times.`, 'Pass each header only once.');
  }
  const [id = '', timestamp = '', signature = ''] = webhookHeaders.map((name) => values.get(name)?.[0]);
  if (!/^\d{1,11}$/.test(timestamp))
    return refusal(
      'malformed_header',
      `webhook-timestamp is "${timestamp}", which is not a number of seconds.`,
      /^\d{12,}$/.test(timestamp)
        ? 'It looks like milliseconds, but the header contains seconds since 1970.'
        : 'It must be the number of seconds since 1970, in digits only.',
    );
  const signatures = signature.split(' ').flatMap(v1Signature);
  return signatures.length > 0 ? { id, timestamp, signatures } : refusal('malformed_header', ...malformedSignature(signature));
}

/** The bytes of a `v1,<base64>`; other versions and invalid values are ignored. */
function v1Signature(text: string): Uint8Array[] {
  const [, encoded] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(text) ?? [];
  return encoded === undefined ? [] : [Buffer.from(encoded, 'base64')];
}

function malformedSignature(text: string): [string, string] {
  const form = 'It must be v1, a comma and the signature in base64; several signatures are separated by spaces.';
  if (/\bv1a,/.test(text) && !/\bv1,/.test(text))
    return [
      'webhook-signature has no v1 signature, only v1a.',
      'v1a is signed with a private key, which is not supported. Use v1 deliveries.',
    ];
  if (/(^|[,=])[0-9a-f]{64}$/i.test(text)) return ['webhook-signature is hexadecimal.', form];
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return ['webhook-signature does not start with its version: v1 and a comma.', form];
  return ['webhook-signature contains no valid signature.', form];
}

function missingHint(values: ReadonlyMap<string, unknown>): string {
  const foreignHeader = ['svix-id', 'stripe-signature', 'x-hub-signature-256'].find((name) => values.has(name));
  if (foreignHeader === 'svix-id') return 'Svix names the headers svix-id, svix-timestamp, and svix-signature; pass them as webhook-...';
  if (foreignHeader !== undefined) return `${foreignHeader} is another kind of signature, which this command does not verify.`;
  return `Pass all three headers: ${webhookHeaders.join(', ')}.`;
}

function timestampRefusal(reason: 'too_old' | 'too_new', milliseconds: number, tolerance: number): Verdict {
  const distance = formatDuration(milliseconds);
  const toleranceText = formatDuration(tolerance);
  return reason === 'too_old'
    ? refusal(
        reason,
        `The signature is valid, but ${distance} old; at most ${toleranceText} are allowed.`,
        'The delivery may be replayed. To check a stored delivery, pass the time at which it arrived with --at.',
      )
    : refusal(
        reason,
        `The signature is valid, but its time is ${distance} ahead; at most ${toleranceText} are allowed.`,
        'Compare the clocks of the sender and the receiver.',
      );
}

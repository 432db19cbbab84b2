/**
 * Verifying a delivery as Standard Webhooks 1.0 has it, strictly: times are digits and nothing else, the raw bytes are what was
 * signed, and signatures are compared in constant time. Needs no service and no network.
 */
import { crypto } from '../../base/crypto.ts';
import { formatDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { explainMismatch } from './explain.ts';
import { hmac, refusal, type Verdict } from './verdict.ts';

export const webhookHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/** Milliseconds by which a delivery may be old, or its clock ahead, unless the caller says otherwise. */
export const defaultTolerance = 5 * 60 * 1_000;

export type { Verdict } from './verdict.ts';

export interface Delivery {
  headers: Iterable<readonly [name: string, value: string]>;
  /** As it came over the wire. */
  body: Uint8Array;
}

export interface VerifyOptions {
  /** Keys of which one has to have signed. */
  secrets: readonly Uint8Array[];
  /** The time to judge by, in milliseconds. */
  now: number;
  /** Milliseconds. */
  tolerance?: number;
}

/** The key of a secret: `whsec_` and base64. @throws UsageError naming `name`, never echoing the secret */
export function secretKey(text: string, name: string): Uint8Array {
  const encoded = text.trim().replace(/^whsec_/, '');
  const key = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0 ? Buffer.from(encoded, 'base64') : undefined;
  if (key !== undefined && key.length >= 16 && key.toString('base64') === encoded) return key;
  throw new UsageError(
    `${name} is no webhook secret.`,
    'A secret is whsec_ and base64, as `aops webhooks secret show --reveal --jq .secret` prints it.',
  );
}

/** Whether a delivery is genuine and fresh; if not, why. */
export function verifyDelivery(delivery: Delivery, { secrets, now, tolerance = defaultTolerance }: VerifyOptions): Verdict {
  const read = readHeaders(delivery.headers);
  if ('reason' in read) return read;
  const { id, timestamp, signatures } = read;
  const signed = (key: Uint8Array, body: Uint8Array): Uint8Array => hmac(key, [`${id}.${timestamp}.`, body]);
  if (!secrets.some((key) => matches(signatures, signed(key, delivery.body))))
    return explainMismatch({ id, timestamp, body: delivery.body, secrets, matches: (mac) => matches(signatures, mac) });
  const at = Number(timestamp) * 1_000;
  if (now - at > tolerance) return untimely('too_old', now - at, tolerance);
  if (at - now > tolerance) return untimely('too_new', at - now, tolerance);
  return { valid: true, id, timestamp: new Date(at).toISOString(), age_seconds: Math.floor((now - at) / 1_000) };
}

function matches(signatures: readonly Uint8Array[], expected: Uint8Array): boolean {
  // All are compared, so that the time tells nothing of which.
  return signatures.map((one) => crypto().timingSafeEqual(one, expected)).includes(true);
}

type Read = { id: string; timestamp: string; signatures: Uint8Array[] } | Extract<Verdict, { valid: false }>;

function readHeaders(headers: Delivery['headers']): Read {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.trim().toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value.trim()]);
  }
  for (const name of webhookHeaders) {
    const given = values.get(name) ?? [];
    if (given.length === 0 || given[0] === '') return refusal('missing_header', `The header ${name} is missing.`, missingHint(values));
    if (given.length > 1)
      return refusal('malformed_header', `The header ${name} is given ${given.length} times.`, 'Give each header once.');
  }
  const [id = '', timestamp = '', signature = ''] = webhookHeaders.map((name) => values.get(name)?.[0]);
  if (!/^\d{1,11}$/.test(timestamp))
    return refusal(
      'malformed_header',
      `webhook-timestamp is "${timestamp}", and not a number of seconds.`,
      /^\d{12,}$/.test(timestamp)
        ? 'It looks like milliseconds; the header has seconds since 1970.'
        : 'It is seconds since 1970, digits alone.',
    );
  const signatures = signature.split(' ').flatMap(v1Signature);
  return signatures.length > 0 ? { id, timestamp, signatures } : refusal('malformed_header', ...malformedSignature(signature));
}

/** The bytes of a `v1,<base64>`; other versions, and what is none, are left out. */
function v1Signature(text: string): Uint8Array[] {
  const [, encoded] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(text) ?? [];
  return encoded === undefined ? [] : [Buffer.from(encoded, 'base64')];
}

function malformedSignature(text: string): [string, string] {
  const form = 'It is v1, a comma and the signature in base64; several are separated by spaces.';
  if (/\bv1a,/.test(text) && !/\bv1,/.test(text))
    return ['webhook-signature has no v1 signature, only v1a.', 'v1a is signed with a private key; ask for v1 deliveries.'];
  if (/(^|[,=])[0-9a-f]{64}$/i.test(text)) return ['webhook-signature is hexadecimal.', form];
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return ['webhook-signature lacks its version: v1 and a comma.', form];
  return ['webhook-signature holds no signature that could be read.', form];
}

function missingHint(values: ReadonlyMap<string, unknown>): string {
  const other = ['svix-id', 'stripe-signature', 'x-hub-signature-256'].find((name) => values.has(name));
  if (other === 'svix-id') return 'Svix names them svix-id, svix-timestamp and svix-signature; give them as webhook-...';
  if (other !== undefined) return `${other} is another kind of signature, which this does not verify.`;
  return `Give all three: ${webhookHeaders.join(', ')}.`;
}

function untimely(reason: 'too_old' | 'too_new', milliseconds: number, tolerance: number): Verdict {
  const by = formatDuration(milliseconds);
  const allowed = formatDuration(tolerance);
  return reason === 'too_old'
    ? refusal(
        reason,
        `The signature is right, but ${by} old, and may be ${allowed} old.`,
        'Somebody may be replaying it. To check a stored delivery, give the time it came with --at.',
      )
    : refusal(
        reason,
        `The signature is right, but its time is ${by} ahead, and may be ${allowed} ahead.`,
        'Compare the clocks of sender and receiver.',
      );
}

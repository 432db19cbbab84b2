/** The result of a verification, and the computation it is based on. */
import { crypto } from '../../base/crypto.ts';

export type Refusal = 'missing_header' | 'malformed_header' | 'no_match' | 'body_altered' | 'wrong_signing' | 'too_old' | 'too_new';

/** The result of a verification. */
export type Verdict =
  /** The time of the signature is null for a delivery that was read from the service. */
  | { valid: true; id: string; timestamp: string | null; age_seconds: number }
  | { valid: false; reason: Refusal; message: string; hint: string };

export const refusal = (reason: Refusal, message: string, hint: string): Extract<Verdict, { valid: false }> => ({
  valid: false,
  reason,
  message,
  hint,
});

/** HMAC-SHA256 over the parts, with texts as UTF-8. */
export function hmac(key: Uint8Array | string, parts: readonly (string | Uint8Array)[]): Uint8Array {
  const mac = crypto().createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** What a verification finds, and the one computation that it stands on. */
import { crypto } from '../../base/crypto.ts';

export type Refusal = 'missing_header' | 'malformed_header' | 'no_match' | 'body_altered' | 'wrong_signing' | 'too_old' | 'too_new';

/** What a verification found. */
export type Verdict =
  | { valid: true; id: string; timestamp: string; age_seconds: number }
  | { valid: false; reason: Refusal; message: string; hint: string };

export const refusal = (reason: Refusal, message: string, hint: string): Extract<Verdict, { valid: false }> => ({
  valid: false,
  reason,
  message,
  hint,
});

/** HMAC-SHA256 over parts, texts as UTF-8. */
export function hmac(key: Uint8Array | string, parts: readonly (string | Uint8Array)[]): Uint8Array {
  const mac = crypto().createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

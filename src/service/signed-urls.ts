/**
 * URLs that work without a credential: what they allow is written in them and signed, and they expire. The key stays in the
 * data directory, so they also outlive a restart.
 */
import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from './errors.ts';

/** What a signed URL allows its bearer. */
export type Grant =
  | { kind: 'run_file'; runId: string; fileId: string }
  | { kind: 'sandbox_file'; sandboxId: string; path: string }
  | { kind: 'upload'; sandboxId: string; path: string };

/** Seconds that a signed URL works for. */
export const signedUrlSeconds = 15 * 60;

export class UrlSigner {
  readonly #key: Buffer;

  /** `key` in base64url. */
  constructor(key: string) {
    this.#key = Buffer.from(key, 'base64url');
  }

  /** A token for the last segment of a URL, and when it expires (milliseconds). */
  sign(grant: Grant, now: number): { token: string; expiresAt: number } {
    const expiresAt = now + signedUrlSeconds * 1_000;
    const payload = Buffer.from(JSON.stringify({ ...grant, expiresAt })).toString('base64url');
    return { token: `${payload}.${this.#signature(payload)}`, expiresAt };
  }

  /** What a token allows. Throws 403 `invalid_signature` for one that is not ours, 403 `url_expired` for an old one. */
  verify(token: string, now: number): Grant {
    const [payload = '', signature = '', ...more] = token.split('.');
    const expected = Buffer.from(this.#signature(payload));
    const received = Buffer.from(signature);
    if (more.length > 0 || expected.length !== received.length || !timingSafeEqual(expected, received)) {
      throw new ServiceError(403, 'invalid_signature', 'This URL was not made by this service, or is incomplete.');
    }
    const { expiresAt, ...grant } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Grant & { expiresAt: number };
    if (expiresAt <= now) throw new ServiceError(403, 'url_expired', 'This URL has expired; ask for a new one.');
    return grant;
  }

  #signature(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url');
  }
}

/**
 * URLs that work without a credential. They contain what they allow, are signed, and expire. The key is stored in the data directory,
 * so they remain valid after a restart.
 */
import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from './errors.ts';

/** What a signed URL allows its bearer. */
export type Grant =
  | { kind: 'run_file'; runId: string; fileId: string }
  | { kind: 'sandbox_file'; sandboxId: string; path: string }
  /** A patch of what a run changed, by the tree that it leads to. */
  | { kind: 'run_patch'; sandboxId: string; tree: string }
  | { kind: 'upload'; sandboxId: string; path: string }
  /** Nothing: the URL leads to a run on the team page, which asks its reader to sign in. */
  | { kind: 'open_run'; teamId: string; runId: string; requestId?: string };

/** Seconds for which a signed URL is valid, unless it is made for longer. */
export const signedUrlSeconds = 15 * 60;

export class UrlSigner {
  readonly #key: Buffer;

  /** @param key in base64url */
  constructor(key: string) {
    this.#key = Buffer.from(key, 'base64url');
  }

  /** A token for the last segment of a URL, and when it expires (milliseconds). */
  sign(grant: Grant, now: number, seconds = signedUrlSeconds): { token: string; expiresAt: number } {
    const expiresAt = now + seconds * 1_000;
    const payload = Buffer.from(JSON.stringify({ ...grant, expiresAt })).toString('base64url');
    return { token: `${payload}.${this.#signature(payload)}`, expiresAt };
  }

  /** What a token allows. Throws 403 `invalid_signature` for a token that this service did not create, 403 `url_expired` for an expired one. */
  verify(token: string, now: number): Grant {
    const [payload = '', signature = '', ...more] = token.split('.');
    const expectedSignature = Buffer.from(this.#signature(payload));
    const receivedSignature = Buffer.from(signature);
    if (
      more.length > 0 ||
      expectedSignature.length !== receivedSignature.length ||
      !timingSafeEqual(expectedSignature, receivedSignature)
    ) {
      throw new ServiceError(403, 'invalid_signature', 'This URL was not created by this service, or it is incomplete.');
    }
    const { expiresAt, ...grant } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Grant & { expiresAt: number };
    if (expiresAt <= now) throw new ServiceError(403, 'url_expired', 'This URL has expired; request a new one.');
    return grant;
  }

  #signature(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url');
  }
}

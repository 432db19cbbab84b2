/** Who calls: the credential behind the Bearer token (interface part 5). */
import { Buffer } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { isScope, type Scope } from '../../interface/scopes.ts';
import { ServiceError } from '../errors.ts';
import type { Queries } from '../store/database.ts';
import { findToken } from '../store/teams.ts';
import type { Rights } from './access.ts';

export interface Caller extends Rights {
  readonly credentialId: string;
  /** Team of the credential; what belongs to another does not exist for it. */
  readonly teamId: string;
}

/** How tokens are stored. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Whether two hashes are the same, in a time that does not tell where they differ. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** The scopes of a column; null has full access. */
export const scopeSet = (words: string | null): ReadonlySet<Scope> | null =>
  words === null ? null : new Set(words.split(' ').filter(isScope));

/** The caller of a request. Throws 401 `invalid_token` (RFC 6750 section 3). */
export async function authenticate(db: Queries, authorization: string | undefined, now: number): Promise<Caller> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  // Without a token of the right form there is nothing to say of it, so the challenge stands alone.
  if (token === undefined) throw invalidToken('Send a token in the header "Authorization: Bearer <token>".', 'Bearer');
  const hash = tokenHash(token);
  const found = await findToken(db, hash, now);
  if (found === undefined || !isSameHash(found.hash, hash)) {
    throw invalidToken('The token is not valid, or not any more: it may have expired or been revoked.', 'Bearer error="invalid_token"');
  }
  const { credentialId, teamId, kind, scopes } = found;
  return { credentialId, teamId, isOwner: kind === 'local', scopes: scopeSet(scopes) };
}

const invalidToken = (message: string, challenge: string): ServiceError =>
  new ServiceError(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });

/** Who calls: the credential behind the Bearer token (interface part 5). */
import { Buffer } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import type { Queries } from '../store/database.ts';
import { findToken } from '../store/teams.ts';

export interface Caller {
  credentialId: string;
  teamId: string;
}

/** How tokens are stored. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

/** The caller of a request. Throws 401 `invalid_token`. */
export async function authenticate(db: Queries, authorization: string | undefined, now: number): Promise<Caller> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw invalidToken('Send a token in the header "Authorization: Bearer <token>".');
  const hash = tokenHash(token);
  const found = await findToken(db, hash, now);
  // The lookup itself goes by a hash nobody can steer; the comparison takes the same time wherever they differ.
  if (found === undefined || !timingSafeEqual(Buffer.from(found.hash), Buffer.from(hash))) {
    throw invalidToken('The token is not valid, or not any more.');
  }
  return { credentialId: found.credentialId, teamId: found.teamId };
}

const invalidToken = (message: string): ServiceError =>
  new ServiceError(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': 'Bearer' } });

/** Identifies the caller: the credential behind the Bearer token (interface part 5). */
import { ServiceError } from '../errors.ts';
import { isSameHash, secretHash } from '../secret-hash.ts';
import type { Tokens } from '../store/access/token-cache.ts';
import type { CredentialKind } from '../store/database/schema.ts';
import { type Rights, scopeSet } from './access.ts';

export interface Caller extends Rights {
  readonly credentialId: string;
  /** Team of the credential; resources of other teams do not exist for it. */
  readonly teamId: string;
  readonly kind: CredentialKind;
}

/** The caller of a request. Throws 401 `invalid_token` (RFC 6750 section 3). */
export async function authenticate(tokens: Tokens, authorization: string | undefined, now: number): Promise<Caller> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  // Without a well-formed token the challenge contains no error.
  if (token === undefined) throw invalidToken('Send a token in the header "Authorization: Bearer <token>".', 'Bearer');
  const hash = secretHash(token);
  const tokenRecord = await tokens.find(hash, now);
  if (tokenRecord === undefined || !isSameHash(tokenRecord.hash, hash)) {
    throw invalidToken('The token is invalid, expired or revoked.', 'Bearer error="invalid_token"');
  }
  const { credentialId, teamId, kind, scopes } = tokenRecord;
  return { credentialId, teamId, kind, isOwner: kind === 'local' && scopes === null, scopes: scopeSet(scopes) };
}

const invalidToken = (message: string, challenge: string): ServiceError =>
  new ServiceError(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });

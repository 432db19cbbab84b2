/** Identifies the caller: the credential behind the Bearer token (interface part 5). */
import { ServiceError } from '../errors.ts';
import type { RunTokens } from '../runtimes/run-tokens.ts';
import { isSameHash, secretHash } from '../secret-hash.ts';
import type { Tokens } from '../store/access/token-cache.ts';
import type { CredentialKind } from '../store/database/schema.ts';
import { type Rights, scopeSet } from './access.ts';

export interface Caller extends Rights {
  /** That of a run's token is the ID of the run. */
  readonly credentialId: string;
  /** Team of the credential; resources of other teams do not exist for it. */
  readonly teamId: string;
  readonly kind: CredentialKind | 'run';
}

/** What callers are known by. */
export interface KnownTokens {
  readonly tokens: Tokens;
  readonly runTokens: RunTokens;
}

/** The caller of a request. Throws 401 `invalid_token` (RFC 6750 section 3). */
export async function authenticate({ tokens, runTokens }: KnownTokens, authorization: string | undefined, now: number): Promise<Caller> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  // Without a well-formed token the challenge contains no error.
  if (token === undefined) throw invalidToken('Send a token in the header "Authorization: Bearer <token>".', 'Bearer');
  const hash = secretHash(token);
  const run = runTokens.find(hash);
  if (run !== undefined && isSameHash(run.hash, hash))
    return { credentialId: run.run.id, teamId: run.run.teamId, kind: 'run', isOwner: false, scopes: new Set(), run };
  const tokenRecord = await tokens.find(hash, now);
  if (tokenRecord === undefined || !isSameHash(tokenRecord.hash, hash)) {
    throw rejectedToken();
  }
  const { credentialId, teamId, kind, scopes } = tokenRecord;
  return { credentialId, teamId, kind, isOwner: kind === 'local' && scopes === null, scopes: scopeSet(scopes) };
}

/** The refusal of a token that does not exist, or cannot be used for this request. */
export const rejectedToken = (): ServiceError => invalidToken('The token is invalid, expired, or revoked.', 'Bearer error="invalid_token"');

const invalidToken = (message: string, challenge: string): ServiceError =>
  new ServiceError(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });

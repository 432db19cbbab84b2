/** POST /oauth/token: access tokens for client credentials (RFC 6749 section 4.4). */

import { ServiceError } from '../errors.ts';
import { scopeSet } from '../http/access.ts';
import { type Answer, errorAnswer, jsonAnswer } from '../http/answer.ts';
import { readBody } from '../http/body.ts';
import { addressOf, type Exchange, type HttpParts } from '../http/exchange.ts';
import { isSameHash, newSecret, secretHash } from '../secret-hash.ts';
import { findCredential, insertToken } from '../store/access/credentials.ts';
import type { CredentialRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';
import { type PresentedClient, presentedClient } from './client-authentication.ts';
import { parseForm } from './form.ts';
import { OAuthError, oauthErrorAnswer, pragma } from './oauth-error.ts';
import { grantedScopes } from './scope-request.ts';

/** The lifetime of an access token in milliseconds, unless its client expires earlier. */
export const accessTokenLife = 3_600_000;
const formLimit = 16 * 1024;
/** The hash that is compared for unknown clients, so that their response takes as long as for existing ones. */
const noSecretHash = secretHash('nobody');

/** The response, and the rate limit that it reports: that of the client once it is known, before that of the network address. */
export async function tokenAnswer(parts: HttpParts, exchange: Exchange): Promise<{ answer: Answer; caller: string }> {
  const from: { caller: string } = { caller: addressOf(parts, exchange.request) };
  try {
    return { answer: await grant(parts, exchange, from), caller: from.caller };
  } catch (error) {
    if (error instanceof OAuthError) return { answer: oauthErrorAnswer(error), caller: from.caller };
    if (!(error instanceof ServiceError)) throw error;
    const answer = errorAnswer(error);
    return { answer: { ...answer, headers: { ...answer.headers, ...pragma } }, caller: from.caller };
  }
}

async function grant(parts: HttpParts, exchange: Exchange, from: { caller: string }): Promise<Answer> {
  const { engine, limiter } = parts;
  const { form, client } = await identify(parts, exchange, from.caller);
  from.caller = client.id;
  await limiter.take(client.id);
  const type = form.get('grant_type');
  if (type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.');
  if (type !== 'client_credentials') throw new OAuthError('unsupported_grant_type', 'The only grant type is client_credentials.');
  const scopes = grantedScopes(form.get('scope'), scopeSet(client.scopes));
  const now = engine.clock.now();
  const expires_at = Math.min(now + accessTokenLife, client.expires_at === null ? Number.POSITIVE_INFINITY : Number(client.expires_at));
  const token = newSecret('access_token');
  // Full access has no scope name; the client did not request a scope, so the response does not have to contain any.
  const scope = scopes === null ? {} : { scope: scopes.join(' ') };
  const hash = secretHash(token);
  await insertToken(engine.store, { hash, credential_id: client.id, created_at: isoTime(now), expires_at, scopes: scope.scope ?? null });
  const body = { access_token: token, token_type: 'Bearer', expires_in: Math.floor((expires_at - now) / 1_000) };
  return jsonAnswer(200, { ...body, ...scope }, pragma);
}

/** The form and its client. Failures here count against the network address. */
async function identify(parts: HttpParts, exchange: Exchange, address: string) {
  const { request, search } = exchange;
  try {
    // Query strings end up in logs (RFC 6749 section 2.3.1 forbids secrets in them).
    if (search.size > 0) throw new OAuthError('invalid_request', 'Send parameters in the body, not in the URL.');
    const form = parseForm(await readBody(request, formLimit, parts.limits.bodyMilliseconds), request.headers['content-type']);
    return { form, client: await authenticateClient(parts, presentedClient(request.headers.authorization, form), address) };
  } catch (error) {
    await parts.limiter.take(address);
    throw error;
  }
}

/**
 * A correct secret is always accepted, so that nobody can lock out a client. After too many wrong secrets for a client from one
 * address, the response is 429. @throws OAuthError `invalid_client`
 */
async function authenticateClient(
  { engine, attempts }: HttpParts,
  { id, secret }: PresentedClient,
  address: string,
): Promise<CredentialRow> {
  const now = engine.clock.now();
  const credential = await findCredential(engine.store, 'oauth_client', id);
  const isRight = isSameHash(secretHash(secret), credential?.secret_hash ?? noSecretHash);
  if (credential !== undefined && isRight && (credential.expires_at === null || Number(credential.expires_at) > now)) return credential;
  await attempts.take(`${address} ${secretHash(id)}`);
  throw new OAuthError('invalid_client', 'The client is unknown or has expired, or the secret is wrong.');
}

/** The scopes of a token, from the requested scopes and those of its client (RFC 6749 section 3.3). Pure. */
import { isScope, type Scope } from '../../interface/scopes.ts';
import { OAuthError } from './oauth-error.ts';

/**
 * @param allowedScopes the scopes of the client; null for a client with full access
 * @returns the scopes of the token; null for full access, which a client with full access gets if it does not request scopes
 * @throws OAuthError `invalid_scope`
 */
export function grantedScopes(requestedScope: string | undefined, allowedScopes: ReadonlySet<Scope> | null): Scope[] | null {
  if (requestedScope === undefined) return allowedScopes === null ? null : [...allowedScopes];
  const words = requestedScope.split(' ');
  const unknown = words.find((word) => !isScope(word));
  // The unknown scope is not repeated, because it can contain anything.
  if (unknown !== undefined) throw new OAuthError('invalid_scope', 'A requested scope does not exist, or the list is malformed.');
  const scopes = [...new Set(words as Scope[])];
  const refusedScopes = scopes.filter((scope) => allowedScopes !== null && !allowedScopes.has(scope));
  if (refusedScopes.length > 0) throw new OAuthError('invalid_scope', `This client is not allowed the scope ${refusedScopes.join(' ')}.`);
  return scopes;
}

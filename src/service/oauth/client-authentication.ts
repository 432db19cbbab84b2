/** The client ID and secret of a token request: in the Authorization header or in the form, never in both (RFC 6749 section 2.3.1). */
import { Buffer } from 'node:buffer';
import { formDecode, utf8 } from './form.ts';
import { OAuthError } from './oauth-error.ts';

export interface PresentedClient {
  id: string;
  secret: string;
}

/** @throws OAuthError `invalid_client` when they are missing, `invalid_request` when there are several or they cannot be read */
export function presentedClient(authorization: string | undefined, form: ReadonlyMap<string, string>): PresentedClient {
  const [id, secret] = [form.get('client_id'), form.get('client_secret')];
  if (authorization === undefined) {
    if (id !== undefined && secret !== undefined) return { id, secret };
    throw new OAuthError('invalid_client', 'Send the client ID and the client secret, with HTTP Basic authentication or in the form.');
  }
  const basic = basicClient(authorization);
  if (secret !== undefined)
    throw new OAuthError('invalid_request', 'Send the client secret in one place: the Authorization header or the form.');
  if (id !== undefined && id !== basic.id) throw new OAuthError('invalid_request', 'client_id differs from the Authorization header.');
  return basic;
}

/** Both parts are form-encoded before they are joined by a colon. */
function basicClient(authorization: string): PresentedClient {
  const encodedCredentials = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1];
  if (encodedCredentials === undefined)
    throw new OAuthError('invalid_client', 'The Authorization header of a token request must use the scheme Basic.');
  const pair = utf8(Buffer.from(encodedCredentials, 'base64'));
  const colon = pair.indexOf(':');
  if (colon < 0) throw new OAuthError('invalid_client', 'The Authorization header does not contain a client ID and secret.');
  return { id: formDecode(pair.slice(0, colon)), secret: formDecode(pair.slice(colon + 1)) };
}

/** How tokens are obtained (RFC 8414), available below /.well-known. Pure. */
import { scopes } from '../../interface/scopes.ts';

/** RFC 8414 section 2. @param issuer the URL at which the caller reached the service */
export const authorizationServerMetadata = (issuer: string) => ({
  issuer,
  token_endpoint: `${issuer}/oauth/token`,
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  grant_types_supported: ['client_credentials'],
  // There is no authorization endpoint, but the member is required.
  response_types_supported: [],
  scopes_supported: scopes,
});

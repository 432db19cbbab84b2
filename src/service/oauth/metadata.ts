/** What is found below /.well-known: how tokens are obtained (RFC 8414), and for which resources they are (RFC 9728). Pure. */
import { scopes } from '../../interface/scopes.ts';

/** RFC 8414 section 2. @param issuer where the caller reached the service */
export const authorizationServerMetadata = (issuer: string) => ({
  issuer,
  token_endpoint: `${issuer}/oauth/token`,
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  grant_types_supported: ['client_credentials'],
  // There is no authorization endpoint; the member is required all the same.
  response_types_supported: [],
  scopes_supported: scopes,
});

/** Paths of resources that have metadata of their own: the service as a whole, and its MCP endpoint. */
export const protectedResources = ['', '/v2/mcp'] as const;
export type ProtectedResource = (typeof protectedResources)[number];

/** Where the metadata of a resource is: the well-known path, then that of the resource (RFC 9728 section 3.1). */
export const resourceMetadataPath = (resource: ProtectedResource): string => `.well-known/oauth-protected-resource${resource}`;

/**
 * RFC 9728 section 2.
 * @param baseUrl where the caller reached the service, without a slash at the end
 */
export const protectedResourceMetadata = (baseUrl: string, resource: ProtectedResource) => ({
  resource: baseUrl + resource,
  authorization_servers: [baseUrl],
  bearer_methods_supported: ['header'],
  scopes_supported: scopes,
});

/**
 * A Bearer challenge that also says where the metadata of the resource is (RFC 9728 section 5.1), with which MCP clients begin their authorization.
 * @param challenge `Bearer`, with or without parameters
 */
export const challengeWithMetadata = (challenge: string, baseUrl: string, resource: ProtectedResource): string =>
  `${challenge}${challenge.includes('=') ? ',' : ''} resource_metadata="${baseUrl}/${resourceMetadataPath(resource)}"`;

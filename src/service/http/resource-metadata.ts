/** Metadata of the resources that tokens are for (RFC 9728), as found below /.well-known. Pure. */
import { scopes } from '../../interface/scopes.ts';

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

/** Discovers how to authorize an MCP server, from its own metadata (RFC 9728) and that of its authorization server (RFC 8414). */
import type { AuthorizationServerMetadata, OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client';
import { ServiceError } from '../../errors.ts';
import { type Fetch, OutboundError } from '../../outbound/guarded-fetch.ts';
import type { HasClock, HasConnections } from '../engine.ts';
import { notingOutages, type OAuthLibrary, withOAuthLibrary } from './oauth-library.ts';

export interface OAuthDiscovery {
  /** URL of the authorization server. */
  server: string;
  metadata: AuthorizationServerMetadata;
  resource: OAuthProtectedResourceMetadata | undefined;
  /** The scope that the server requires when it is called without a token. */
  scope: string | undefined;
}

/** Returns undefined if the server does not say how to authorize it. Throws 400 `mcp_server_unreachable`. */
export const discoverOAuth = (engine: HasClock & HasConnections, url: string): Promise<OAuthDiscovery | undefined> =>
  withOAuthLibrary(engine, async (sdk, fetch) => {
    const challenge = await challengeOf(sdk, fetch, url);
    const { resourceMetadataUrl } = challenge;
    const requests = notingOutages(fetch);
    const discovery = await sdk
      .discoverOAuthServerInfo(url, { fetchFn: requests.fetchFn, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) })
      // Metadata that cannot be read, or belongs to another issuer, counts as missing.
      .catch((error: unknown) => {
        if (error instanceof OutboundError) throw error;
        return undefined;
      });
    if (discovery?.authorizationServerMetadata === undefined) {
      // Some servers answer every unknown path with 500.
      if (requests.outage !== undefined && requests.outage !== 500)
        throw new OutboundError(`it responded with ${requests.outage} for its metadata`);
      return undefined;
    }
    // A person opens this URL in a browser. Any other scheme could start a program, or show a file of their machine.
    const { protocol } = new URL(discovery.authorizationServerMetadata.authorization_endpoint);
    if (!/^https?:$/.test(protocol)) return undefined;
    return {
      server: discovery.authorizationServerUrl,
      metadata: discovery.authorizationServerMetadata,
      resource: discovery.resourceMetadata,
      scope: challenge.scope,
    };
  }).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error;
    throw new ServiceError(400, 'mcp_server_unreachable', `Discovering how to authorize ${url} failed: ${error.message}.`);
  });

/** The server's response to a request without a token. */
async function challengeOf(sdk: OAuthLibrary, fetch: Fetch, url: string): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  return response.status === 401 ? sdk.extractWWWAuthenticateParams(response) : {};
}

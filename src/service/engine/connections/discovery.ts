/** How an MCP server is authorized: its own metadata (RFC 9728), and that of its authorization server (RFC 8414). */
import type { AuthorizationServerMetadata, OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client';
import { ServiceError } from '../../errors.ts';
import { type Fetch, OutboundError } from '../../outbound/guarded-fetch.ts';
import type { HasClock, HasConnections } from '../engine.ts';
import { type OAuthLibrary, withOAuthLibrary } from './oauth-library.ts';

export interface Discovered {
  /** URL of the authorization server. */
  server: string;
  metadata: AuthorizationServerMetadata;
  resource: OAuthProtectedResourceMetadata | undefined;
  /** What the server asks for when it is called without a token. */
  scope: string | undefined;
}

/** Undefined when nothing there says how it is authorized. Throws 400 `mcp_server_unreachable`. */
export const discoverOAuth = (engine: HasClock & HasConnections, url: string): Promise<Discovered | undefined> =>
  withOAuthLibrary(engine, async (sdk, fetch) => {
    const challenge = await challengeOf(sdk, fetch, url);
    const { resourceMetadataUrl } = challenge;
    const found = await sdk
      .discoverOAuthServerInfo(url, { fetchFn: fetch, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) })
      // What cannot be read, or speaks for another issuer, is as good as nothing.
      .catch((error: unknown) => {
        if (error instanceof OutboundError) throw error;
        return undefined;
      });
    if (found?.authorizationServerMetadata === undefined) return undefined;
    // A person is sent there by a browser: any other address would start a program, or show a file of this machine.
    const { protocol } = new URL(found.authorizationServerMetadata.authorization_endpoint);
    if (!/^https?:$/.test(protocol)) return undefined;
    return {
      server: found.authorizationServerUrl,
      metadata: found.authorizationServerMetadata,
      resource: found.resourceMetadata,
      scope: challenge.scope,
    };
  }).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error;
    throw new ServiceError(400, 'mcp_server_unreachable', `How ${url} is authorized could not be found out: ${error.message}.`);
  });

/** What the server says to a request without a token. */
async function challengeOf(sdk: OAuthLibrary, fetch: Fetch, url: string): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  return response.status === 401 ? sdk.extractWWWAuthenticateParams(response) : {};
}

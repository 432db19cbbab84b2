/** Discovers where a service issues access tokens (RFC 8414). */

import { type Network, openDispatcher } from '../network/network.ts';
import { retryPolicy } from '../retry-policy.ts';
import { attempt } from '../transport.ts';

export interface DiscoveryOptions {
  userAgent: string;
  network: Network;
  signal: AbortSignal;
}

/**
 * The token endpoint in the metadata of the authorization server at `baseUrl`; undefined when there is no metadata, or it is
 * for another issuer. The URL is returned exactly as the service published it.
 * @throws the signal's reason
 */
export async function discoverTokenUrl(baseUrl: string, { userAgent, network, signal }: DiscoveryOptions): Promise<string | undefined> {
  const oauth = await import('oauth4webapi');
  const dispatcher = await openDispatcher(network, 1);
  const issuer = new URL(baseUrl);
  try {
    const response = await oauth.discoveryRequest(issuer, {
      algorithm: 'oauth2',
      // Plain http is only possible for this machine: config/base-url.ts rejects all other http addresses.
      [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
      [oauth.customFetch]: async (url) => {
        const { origin, pathname, search } = new URL(url);
        const limit = AbortSignal.any([signal, AbortSignal.timeout(retryPolicy.attemptMilliseconds)]);
        const headers = { accept: 'application/json', 'user-agent': userAgent };
        const outcome = await attempt(dispatcher, { origin, path: pathname + search, method: 'GET', headers, signal: limit });
        if (outcome.kind === 'failure') throw new Error(outcome.reason);
        const { status, body } = outcome.response;
        // The library accepts JSON with status 200 only, whatever its declared type.
        return new Response(body.toString('utf8'), { status });
      },
    });
    return (await oauth.processDiscoveryResponse(issuer, response)).token_endpoint;
  } catch {
    signal.throwIfAborted();
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
}

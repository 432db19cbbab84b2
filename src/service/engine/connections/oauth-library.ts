/** The OAuth part of the MCP client library, used over guarded connections and within a time limit. */
import { type Fetch, guardedFetch, OutboundError } from '../../outbound/guarded-fetch.ts';
import { withinTime } from '../../outbound/within-time.ts';
import type { HasClock, HasConnections } from '../engine.ts';
import { probeLimit } from './limits.ts';

/** Maximum size of all responses of one use together, in bytes. */
const maxBytes = 1024 * 1024;

export type OAuthLibrary = typeof import('@modelcontextprotocol/client');

/** Requests that note whether a server was out of order, which says nothing about what was requested. */
export interface NotedRequests {
  fetchFn: Fetch;
  /** The last status that says so; undefined if there was none. */
  outage: number | undefined;
}

/** The library does not tell the status of a response. */
export function notingOutages(fetch: Fetch): NotedRequests {
  const requests: NotedRequests = {
    outage: undefined,
    async fetchFn(...request) {
      const response = await fetch(...request);
      if (isOutage(response.status)) requests.outage = response.status;
      return response;
    },
  };
  return requests;
}

const isOutage = (status: number): boolean => status >= 500 || status === 408 || status === 425 || status === 429;

/** Rejects like `use`, or with an OutboundError if it takes too long. */
export async function withOAuthLibrary<T>(
  { clock, connections }: HasClock & HasConnections,
  use: (sdk: OAuthLibrary, fetch: Fetch) => Promise<T>,
): Promise<T> {
  const sdk = await import('@modelcontextprotocol/client');
  const timeoutError = (): Error => new OutboundError(`there was no response within ${probeLimit / 1_000} s`);
  return withinTime(clock, { limit: probeLimit, timeoutError, signal: new AbortController().signal }, (signal) =>
    use(sdk, guardedFetch(connections.agent, { bytes: maxBytes, signal })),
  );
}

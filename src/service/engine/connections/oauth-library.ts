/** The OAuth part of the MCP client library, used over guarded connections and within a time limit. */
import { type Fetch, guardedFetch, OutboundError } from '../../outbound/guarded-fetch.ts';
import { withinTime } from '../../outbound/within-time.ts';
import type { HasClock, HasConnections } from '../engine.ts';
import { probeLimit } from './limits.ts';

/** Maximum size of all responses of one use together, in bytes. */
const maxBytes = 1024 * 1024;

export type OAuthLibrary = typeof import('@modelcontextprotocol/client');

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

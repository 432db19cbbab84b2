/**
 * How the HTTP core gets to a host: directly, or by a proxy, with the certificates it trusts and the one it shows.
 * What needs more than a plain connection is loaded only where it is asked for.
 */
import { Connecting } from './connecting.ts';
import { Agent, buildConnector, type Dispatcher } from './undici.ts';

/** A proxy, without its password in the address. */
export interface ProxyServer {
  /** Scheme, host and port. */
  origin: string;
  /** What named it, for messages: `HTTPS_PROXY`. */
  variable: string;
  login?: { user: string; password: string };
}

/** Certificates, as PEM text. */
export interface Certificates {
  /** Authorities trusted in addition to the default ones, also of proxies. */
  authorities?: string;
  /** What to identify with. Shown to `origins` alone. */
  client?: { certificate: string; key: string; origins: readonly string[] };
}

export interface Network {
  /** The proxy for a URL, undefined for none. */
  proxyFor?: (url: URL) => ProxyServer | undefined;
  certificates?: Certificates;
}

/** Time to connect, TLS included, in milliseconds. */
export const connectMilliseconds = 10_000;

/**
 * A dispatcher for requests to any host. The caller destroys it.
 * @throws UsageError for certificates that cannot be used
 */
export async function openDispatcher(network: Network = {}, connections = 8): Promise<Dispatcher> {
  // Time limits are the caller's: one signal covers the whole attempt.
  const limits = { connections, headersTimeout: 0, bodyTimeout: 0 };
  if (network.proxyFor === undefined && network.certificates === undefined) {
    const connecting = new Connecting();
    const connect = connecting.track(buildConnector({ timeout: connectMilliseconds }));
    return connecting.endWith(new Agent({ ...limits, connect }));
  }
  const { NetworkDispatcher } = await import('./network-dispatcher.ts');
  return new NetworkDispatcher(network, limits);
}

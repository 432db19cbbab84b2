/** How to get to a service: through which proxy, trusting whom, identified by what. */

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
  /** The certificate (PEM) that the service is known to have: no other is taken, and this one whoever signed it, for whatever name. */
  pinned?: string;
}

/** Time to connect, TLS included, in milliseconds. */
export const connectMilliseconds = 10_000;

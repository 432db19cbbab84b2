/** How to reach a service: which proxy to use, which authorities to trust, and which certificate to present. */

/** A proxy. Its password is not part of the origin. */
export interface ProxyServer {
  /** Scheme, host and port. */
  origin: string;
  /** The variable that sets it, for messages: `HTTPS_PROXY`. */
  variable: string;
  login?: { user: string; password: string };
}

/** Certificates, as PEM text. */
export interface Certificates {
  /** Authorities to trust in addition to the default ones, also for proxies. */
  authorities?: string;
  /** The client certificate. It is presented only to `origins`. */
  client?: { certificate: string; key: string; origins: readonly string[] };
}

export interface Network {
  /** The proxy for a URL; undefined for a direct connection. */
  proxyFor?: (url: URL) => ProxyServer | undefined;
  certificates?: Certificates;
  /** The certificate (PEM) that the service must have: no other is accepted, and this one regardless of its issuer and names. */
  pinned?: string;
}

/** Time to connect, TLS included, in milliseconds. */
export const connectMilliseconds = 10_000;

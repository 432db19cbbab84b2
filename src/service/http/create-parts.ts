/** Builds what the HTTP server works with from the options of the service. */
import { ChangeFeed } from '../events/change-feed.ts';
import { StreamSlots } from '../events/stream-slots.ts';
import type { RateWindows } from '../store/access/rate-windows.ts';
import type { IdempotencyBounds } from '../store/idempotency/key-usage.ts';
import { TrustedProxies } from './client-address.ts';
import type { HttpParts } from './exchange.ts';
import { defaultHttpLimits, type HttpLimits } from './limits.ts';
import { type OriginCheck, originCheck } from './origin.ts';
import { LocalRateLimiter, type RateLimit, type RateLimiter } from './rate-limit.ts';
import { Router } from './router.ts';
import { SharedRateLimiter } from './shared-rate-limit.ts';
import { checkTls, requireTls, type TlsPair } from './tls.ts';

export interface HttpOptions {
  /** 127.0.0.1 by default. */
  host?: string;
  /** By default 0, which means any free port. */
  port?: number;
  /** 3000 requests a minute for each credential by default. */
  rateLimit?: RateLimit;
  /** Time limits, and how many connections there may be. */
  httpLimits?: Partial<HttpLimits>;
  /** How much is stored under the idempotency keys of each credential. */
  idempotencyBounds?: IdempotencyBounds;
  /** The certificate for TLS, which is required to listen beyond this machine. */
  tls?: TlsPair;
  /** Allows listening beyond this machine without TLS. */
  insecureHttp?: boolean;
  /** Where clients reach the service, such as `https://agents.example.com`; used in URLs that it returns. By default, the address that a request came to. */
  publicUrl?: string;
  /** Names accepted in the Host header, in addition to those of this machine, of `host`, and of `publicUrl`. */
  allowedHosts?: readonly string[];
  /** Addresses and ranges of proxies whose X-Forwarded-For or Forwarded header is believed. */
  trustedProxies?: readonly string[];
  /** The token for reading /metrics. Without one, only this machine can read it. */
  metricsToken?: string;
}

/** The options of the server after validation, with their defaults. */
export interface HttpSettings extends HttpOptions {
  host: string;
  port: number;
  scheme: 'http' | 'https';
  limits: HttpLimits;
  proxies: TrustedProxies;
  checkOrigin: OriginCheck;
}

/** Validates the options; `now` is in milliseconds. Throws UsageError `trusted_proxy_invalid`, `tls_required`, or `tls_invalid`. */
export function httpSettings(options: HttpOptions, now: number): HttpSettings {
  const { host = '127.0.0.1', port = 0, tls, publicUrl } = options;
  const proxies = new TrustedProxies(options.trustedProxies);
  requireTls({ ...options, host });
  if (tls !== undefined) checkTls(tls, now);
  const scheme = tls === undefined ? 'http' : 'https';
  return {
    ...options,
    ...{ host, port, scheme, proxies },
    limits: { ...defaultHttpLimits, ...options.httpLimits },
    checkOrigin: originCheck({ scheme, host, publicUrl, names: options.allowedHosts ?? [] }),
  };
}

/** What the server needs and cannot build itself. */
type Collaborators = Pick<HttpParts, 'api' | 'engine' | 'signer' | 'instanceId' | 'metrics' | 'readiness' | 'tokens' | 'keys'> & {
  /** Counts the requests of all nodes; undefined if there is only this one. */
  rateWindows?: RateWindows | undefined;
};

/** Builds the parts of a server that has not started to listen. */
export function createHttpParts(settings: HttpSettings, { rateWindows: windows, ...collaborators }: Collaborators): HttpParts {
  const { store, clock } = collaborators.engine;
  const { limits, proxies, checkOrigin, publicUrl, metricsToken } = settings;
  const limiterFor = (name: string, rate: RateLimit): RateLimiter =>
    windows === undefined ? new LocalRateLimiter(rate, clock) : new SharedRateLimiter(rate, clock, { name, windows });
  return {
    ...collaborators,
    ...{ limits, proxies, checkOrigin, publicUrl, metricsToken },
    streams: {
      feed: new ChangeFeed(store.changes),
      slots: new StreamSlots({ total: limits.streams, perCredential: limits.streamsPerCredential }),
      heartbeatMilliseconds: limits.heartbeatMilliseconds,
    },
    limiter: limiterFor('requests', settings.rateLimit ?? { limit: 3_000, windowSeconds: 60 }),
    attempts: limiterFor('attempts', { limit: 10, windowSeconds: 60 }),
    router: new Router(),
  };
}

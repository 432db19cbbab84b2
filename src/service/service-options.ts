/** What a service is started with, and what comes of it. */
import type { Clock } from '../base/clock.ts';
import type { BrowsePolicy, Browsing } from './browser/chromium.ts';
import type { IdempotencyBounds } from './http/idempotency/idempotency-bounds.ts';
import type { HttpLimits } from './http/limits.ts';
import type { RateLimit } from './http/rate-limit.ts';
import type { TlsPair } from './http/tls.ts';
import type { LogEntry, LogLevel } from './log.ts';
import type { ProcessUsage } from './operating/service-metrics.ts';
import type { Lookup } from './outbound/guarded-agent.ts';
import type { Runtime } from './runtimes/runtime.ts';
import type { Plan } from './store/access/plan.ts';

export interface ServiceOptions {
  /** Created with mode 0700 when it is not there. One process owns it at a time. */
  dataDirectory: string;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Whether runs may execute commands, which are not confined: `host` runs them as this user. */
  exec: 'host' | 'off';
  /** PATH of those commands, and where a browser is looked for; default the system's folders. Nothing else of the environment reaches them. */
  commandPath?: string;
  /** Whether runs may browse: default `off`, and with a Chromium that is found on this machine. */
  browsing?: { policy: BrowsePolicy } & Partial<Browsing>;
  clock?: Clock;
  /** Default 3000 requests a minute for each credential. */
  rateLimit?: RateLimit;
  /** Times and numbers of connections. */
  httpLimits?: Partial<HttpLimits>;
  /** What each credential may keep under idempotency keys. */
  idempotencyBounds?: IdempotencyBounds;
  /** Runs executed at the same time by this process; default what the plans allow a team. */
  runConcurrency?: number;
  /** Milliseconds for which the files of a run are kept after its end; default for ever. */
  sandboxRetention?: number;
  /** Milliseconds for which a run is kept after its end, with everything that is its own; default for ever. */
  runRetention?: number;
  /** The plan of the local team, which is kept; default the one that it has. */
  plan?: Plan;
  /** Those of other teams, by name or id. */
  teamPlans?: ReadonlyMap<string, Plan>;
  webhooks?: {
    /** Hosts, addresses and ranges that webhooks may be sent to; `loopback` for this machine, `public` for the whole internet. Default none. */
    allow?: readonly string[];
    /** Factor on all waits between attempts. Default 1. */
    timeScale?: number;
    /** 0 to 1, for their jitter; default Math.random. */
    random?: () => number;
    /** Default the system's. */
    lookup?: Lookup;
  };
  connections?: {
    /** Hosts, addresses and ranges of MCP servers, and of what authorizes for them, in the same words. Default none. */
    allow?: readonly string[];
    /** Default the system's. */
    lookup?: Lookup;
  };
  /** The certificate to speak TLS with, which it needs to listen beyond this machine. */
  tls?: TlsPair;
  /** Listens beyond this machine without TLS. */
  insecureHttp?: boolean;
  /** Where others reach the service, such as `https://agents.example.com`; it is in the URLs that it gives. Default where a request came to. */
  publicUrl?: string;
  /** Names in the Host header that it answers to, beside those of this machine, of `host` and of `publicUrl`. */
  allowedHosts?: readonly string[];
  /** Addresses and ranges of proxies, whose X-Forwarded-For or Forwarded header says where a request came from. */
  trustedProxies?: readonly string[];
  /** Who has it may read the figures at /metrics; without one, this machine may. */
  metricsToken?: string;
  /** What the process uses, for those figures. */
  usage?: () => ProcessUsage;
  drain?: {
    /** Milliseconds for which requests are still taken when it is to end, while it says that it is not ready. Default 0. */
    delay?: number;
    /** Milliseconds that closing waits for requests, and again for runs and deliveries. Default 5000. */
    time?: number;
  };
  log?: (entry: LogEntry) => void;
  /** Entries of less importance are not logged. Default `debug`. */
  logLevel?: LogLevel;
  /** What executes agents; default the script runtime. */
  runtimes?: readonly Runtime[];
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly teamId: string;
  readonly token: string;
  readonly instanceId: string;
  /** Shows another certificate to who connects from now on. Throws UsageError `tls_invalid`, and then keeps the one it has. */
  setTls(pair: TlsPair): void;
  /** Finishes requests, leaves runs to be continued by the next start, and closes the data directory. */
  close(): Promise<void>;
}

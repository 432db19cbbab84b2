/** The options that a service is started with, and the service that starting returns. */
import type { Clock } from '../base/clock.ts';
import type { Shortfall } from './contained/shortfall.ts';
import type { EngineOptions } from './engine/create-engine.ts';
import type { HttpOptions } from './http/create-parts.ts';
import type { TlsPair } from './http/tls.ts';
import type { LogEntry, LogLevel } from './log.ts';
import type { ProcessUsage } from './operating/service-metrics.ts';
import type { ExecLevel } from './sandbox/launch.ts';
import type { SecretKey } from './shared-secrets.ts';
import type { Plan } from './store/access/plan.ts';

export interface ServiceOptions extends EngineOptions, HttpOptions {
  /** The clock of the system by default. */
  clock?: Clock;
  /** The plan of the local team, which is stored. By default, the one that it already has. */
  plan?: Plan;
  /** Plans of other teams, by name or ID. */
  teamPlans?: ReadonlyMap<string, Plan>;
  /** Resources that the process uses, for the metrics. */
  usage?: () => ProcessUsage;
  /** A Postgres database that several nodes share. By default, the database in the data directory, which only this process uses. */
  database?: {
    /** `postgres://user:password@host:port/database` */
    url: string;
    /** How many connections this process may use for queries. 10 by default. */
    maxConnections?: number;
    /** The key for secrets, which all nodes must share. */
    secretKey?: SecretKey;
    /** A file with the key instead, which is created if it does not exist. By default `secrets.key` in the data directory. */
    secretKeyFile?: string;
    /** The name of this node in logs and in the list of nodes. By default, that of the machine. */
    nodeName?: string;
    /** Whether the data directory gets a token of the owner, for programs that start a service in their own process. */
    ownerToken?: boolean;
  };
  drain?: {
    /** Milliseconds for which requests are still accepted during shutdown, while the service reports that it is not ready. 0 by default. */
    delay?: number;
    /** Milliseconds that closing waits for requests, and again for runs and deliveries. 5000 by default. */
    time?: number;
  };
  log?: (entry: LogEntry) => void;
  /** Less important entries are not logged. `debug` by default. */
  logLevel?: LogLevel;
}

export interface Service {
  /** How far commands of runs are confined, as demonstrated at the start. */
  readonly exec: ExecLevel;
  /** Why commands are not contained, although the setting `auto` asks for it. */
  readonly shortfall: Shortfall | undefined;
  /** How many agents that are processes can run at the same time. */
  readonly agentConcurrency: number;
  readonly url: string;
  readonly port: number;
  readonly teamId: string;
  /** The token of the owner; empty if the service uses a shared database and none was requested. */
  readonly token: string;
  /** The shared database as `host:port/database`, and the name of this node. */
  readonly node: { readonly name: string; readonly database: string } | undefined;
  readonly instanceId: string;
  /** Uses another certificate for new connections. Throws UsageError `tls_invalid`, and then keeps the current one. */
  setTls(pair: TlsPair): void;
  /** Finishes requests, leaves runs to be continued at the next start, and closes the data directory. */
  close(): Promise<void>;
}

/** The local service put together: a data directory, the engine that works on it, and the HTTP server in front. */
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import { version } from '../base/version.ts';
import type { BrowsePolicy, Browsing } from './browser/chromium.ts';
import { generateArtifact } from './engine/artifacts/driver.ts';
import { refreshDue } from './engine/artifacts/schedule.ts';
import { driveBuilderRun } from './engine/builder-driver.ts';
import { dispatchCases } from './engine/cases/dispatch.ts';
import { probeLimit } from './engine/connections/limits.ts';
import { type Engine, jobKinds } from './engine/engine.ts';
import { evaluateRun } from './engine/evaluations.ts';
import { FileStore } from './engine/file-store.ts';
import { driveRun } from './engine/run-driver.ts';
import { forgetRuns, planRunRetention } from './engine/run-retention.ts';
import { expireStagedSandbox } from './engine/sandbox-expiry.ts';
import { expireRunSandboxes, planRetention } from './engine/sandbox-retention.ts';
import { fireSchedule } from './engine/schedules.ts';
import { deliverDue } from './engine/webhooks/delivery.ts';

import { forgetDeliveries } from './engine/webhooks/retention.ts';
import { Sender } from './engine/webhooks/sender.ts';
import { Worker } from './engine/worker.ts';
import { IdempotencyLayer } from './http/idempotency.ts';
import type { IdempotencyBounds } from './http/idempotency-bounds.ts';
import { KnownTokens } from './http/known-tokens.ts';
import { defaultHttpLimits, type HttpLimits } from './http/limits.ts';
import { originCheck } from './http/origin.ts';
import { type RateLimit, RateLimiter } from './http/rate-limit.ts';
import { RememberedAnswers } from './http/remembered.ts';
import { Router } from './http/router.ts';
import { type HttpServer, listen } from './http/server.ts';
import { checkTls, requireTls, type TlsPair } from './http/tls.ts';
import { createLog, type LogEntry, type LogLevel } from './log.ts';
import { newSecret, secretHash } from './oauth/secrets.ts';
import { Readiness } from './operating/readiness.ts';
import { type ProcessUsage, ServiceMetrics } from './operating/service-metrics.ts';
import { GuardedAgent, type Lookup } from './outbound/guarded-agent.ts';
import { HostRules } from './outbound/host-rules.ts';
import type { Plan } from './plans/plan.ts';
import type { Runtime } from './runtimes/runtime.ts';
import { scriptRuntime } from './runtimes/script/script-runtime.ts';
import { systemPath } from './sandbox/exec.ts';
import { SandboxStore } from './sandbox/sandbox.ts';
import { SecretBox } from './secret-box.ts';
import { UrlSigner } from './signed-urls.ts';
import { deleteTokens, findToken, firstCredential, insertCredential, insertToken } from './store/credentials.ts';
import { openDatabase, type Store } from './store/database.ts';
import { nudgeJob, reclaimJobs } from './store/jobs.ts';
import { largestConcurrency, savePlan } from './store/plans.ts';
import { claimRunJob } from './store/run-queue.ts';
import { settingOrCreate } from './store/settings.ts';
import { findTeam, findTeamNamed, insertTeam } from './store/teams.ts';
import { isoTime } from './store/time.ts';

export type { BrowsePolicy } from './browser/chromium.ts';
export type { LogEntry, LogLevel } from './log.ts';
export { logLevels } from './log.ts';
export { parsePlan } from './plans/plan-file.ts';

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
    /** Hosts, addresses and ranges that webhooks may be sent to beside this machine; `public` for the whole internet. */
    allow?: readonly string[];
    /** Factor on all waits between attempts. Default 1. */
    timeScale?: number;
    /** 0 to 1, for their jitter; default Math.random. */
    random?: () => number;
    /** Default the system's. */
    lookup?: Lookup;
  };
  connections?: {
    /** Hosts, addresses and ranges of MCP servers, and of what authorizes for them, beside this machine; `public` for the whole internet. */
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

const drainTime = 5_000;
/** Endpoints that are delivered to at the same time. */
const deliveredEndpoints = 32;

/**
 * Starts the service. Throws AopsError `data_directory_in_use`, `data_directory_newer`, `port_in_use` `webhook_host_invalid`, `connection_host_invalid`, `secret_key_invalid`, `tls_required`, `tls_invalid` or `team_not_found`.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dataDirectory, host = '127.0.0.1', port = 0, clock = systemClock } = options;
  requireTls({ ...options, host });
  if (options.tls !== undefined) checkTls(options.tls, clock.now());
  // A directory that was there keeps its mode, it may hold other things; everything the service puts into it is its owner's alone.
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const store = await openDatabase(dataDirectory);
  try {
    const instanceId = randomUUID();
    const log = createLog(() => clock.now(), options.log, options.logLevel);
    const { teamId, token } = await localAccess(store, dataDirectory, clock.now());
    await savePlans(store, options, { teamId, now: isoTime(clock.now()) });
    const runConcurrency = options.runConcurrency ?? (await largestConcurrency(store));
    const box = await SecretBox.open(join(dataDirectory, 'secrets.key'));
    const engine = createEngine({ ...options, runConcurrency }, { store, clock, log, instanceId, box });
    const signer = new UrlSigner(await settingOrCreate(store, 'url_signing_key', () => randomBytes(32).toString('base64url')));
    // Nobody else can have the database open: what was being worked on is free again.
    const continued = await reclaimJobs(store, clock.now());
    const readiness = new Readiness({ store, worker: engine.worker, clock, log });
    const metrics = new ServiceMetrics(clock.now(), options.usage);
    const scheme = options.tls === undefined ? 'http' : 'https';
    const { publicUrl, allowedHosts = [] } = options;
    const server = await listen(
      {
        engine,
        early: { ...engine, store: store.early },
        signer,
        instanceId,
        limits: { ...defaultHttpLimits, ...options.httpLimits },
        checkOrigin: originCheck(host, [...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]),
        limiter: new RateLimiter(options.rateLimit ?? { limit: 3_000, windowSeconds: 60 }, clock),
        attempts: new RateLimiter({ limit: 10, windowSeconds: 60 }, clock),
        idempotency: new IdempotencyLayer({ store, clock, owner: instanceId, log, bounds: options.idempotencyBounds }),
        router: new Router(),
        tokens: new KnownTokens(store),
        remembered: new RememberedAnswers(store.changes),
        ...{ scheme, publicUrl, metrics, readiness, metricsToken: options.metricsToken },
      },
      { host, port, tls: options.tls },
    );
    await nudgeJob(store, { kind: jobKinds.forgetDeliveries, subjectId: 'all', dueAt: clock.now() });
    await planRetention(engine);
    await planRunRetention(engine);
    engine.worker.start();
    const url = `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${server.port}`;
    log('info', 'service started', { url, version, instance: instanceId, continued });
    let closed: Promise<void> | undefined;
    return {
      ...{ url, port: server.port, teamId, token, instanceId },
      setTls(pair) {
        checkTls(pair, clock.now());
        server.setTls(pair);
      },
      close: () => (closed ??= close({ engine, server, readiness, metrics }, options.drain)),
    };
  } catch (error) {
    await store.destroy();
    throw error;
  }
}

function createEngine(
  options: ServiceOptions & { runConcurrency: number },
  parts: Pick<Engine, 'store' | 'clock' | 'log'> & { instanceId: string; box: SecretBox },
): Engine {
  const { store, clock, log, instanceId, box } = parts;
  const runtimes = options.runtimes ?? [scriptRuntime];
  const engine: Engine = {
    store,
    clock,
    log,
    runtimes: new Map(runtimes.map((runtime) => [runtime.name, runtime])),
    sandboxes: new SandboxStore(
      join(options.dataDirectory, 'sandboxes'),
      options.commandPath === undefined ? {} : { path: options.commandPath },
    ),
    files: new FileStore(join(options.dataDirectory, 'files')),
    exec: options.exec,
    sandboxRetention: options.sandboxRetention,
    runRetention: options.runRetention,
    webhooks: {
      sender: new Sender({ clock, rules: new HostRules(options.webhooks?.allow), lookup: options.webhooks?.lookup }),
      timing: { scale: options.webhooks?.timeScale ?? 1, random: options.webhooks?.random ?? Math.random },
    },
    connections: {
      agent: new GuardedAgent({
        rules: new HostRules(options.connections?.allow, 'connection'),
        lookup: options.connections?.lookup,
        deadline: probeLimit,
        refused: (host) => `the service may not connect to ${host}; --allow-connection-host would let it`,
      }),
      box,
      renewals: new Map(),
    },
    browsing: { policy: 'off', searchPath: options.commandPath ?? systemPath, ...options.browsing },
    worker: new Worker({ store, clock, log, owner: instanceId }),
  };
  engine.worker.handle(jobKinds.run, options.runConcurrency, (job, signal) => driveRun(engine, job, signal), claimRunJob);
  engine.worker.handle(jobKinds.dispatchCases, 2, (job) => dispatchCases(engine, job));
  engine.worker.handle(jobKinds.builderRun, 2, (job, signal) => driveBuilderRun(engine, job, signal));
  engine.worker.handle(jobKinds.evaluate, 2, (job) => evaluateRun(engine, job));
  engine.worker.handle(jobKinds.schedule, 2, (job) => fireSchedule(engine, job));
  engine.worker.handle(jobKinds.artifact, 2, (job, signal) => generateArtifact(engine, job, signal));
  engine.worker.handle(jobKinds.refreshArtifact, 1, (job) => refreshDue(engine, job));
  engine.worker.handle(jobKinds.expireSandbox, 1, (job) => expireStagedSandbox(engine, job));
  engine.worker.handle(jobKinds.expireRunSandboxes, 1, (job, signal) => expireRunSandboxes(engine, job, signal));
  engine.worker.handle(jobKinds.deliver, deliveredEndpoints, (job, signal) => deliverDue(engine, job, signal));
  engine.worker.handle(jobKinds.forgetRuns, 1, (job, signal) => forgetRuns(engine, job, signal));
  engine.worker.handle(jobKinds.forgetDeliveries, 1, (job, signal) => forgetDeliveries(engine, job, signal));
  return engine;
}

/** Keeps the plans that the service was started with. Throws AopsError `team_not_found`, and then keeps none. */
async function savePlans(store: Store, options: ServiceOptions, own: { teamId: string; now: string }): Promise<void> {
  await store.transaction().execute(async (trx) => {
    if (options.plan !== undefined) await savePlan(trx, own.teamId, options.plan, own.now);
    for (const [word, plan] of options.teamPlans ?? []) {
      const team = (await findTeamNamed(trx, word)) ?? (await findTeam(trx, word));
      if (team === undefined)
        throw new AopsError(`There is no team "${word}" to give a plan to.`, {
          code: 'team_not_found',
          exit: exitCodes.notFound,
          hint: 'Start the service without it, and create the team with `aops local team create`.',
        });
      await savePlan(trx, team.id, plan, own.now);
    }
  });
}

async function close(
  { engine, server, readiness, metrics }: { engine: Engine; server: HttpServer; readiness: Readiness; metrics: ServiceMetrics },
  { delay = 0, time = drainTime }: NonNullable<ServiceOptions['drain']> = {},
): Promise<void> {
  readiness.drain();
  engine.log('info', 'service draining');
  if (delay > 0) await systemClock.sleep(delay);
  await server.close(time);
  metrics.close();
  await engine.worker.close(time);
  await engine.webhooks.sender.close();
  await engine.connections.agent.close();
  await engine.store.destroy();
  engine.log('info', 'service stopped');
}

/** The team and the token of this machine's own caller, made at the first start. A token file that is gone or stale is replaced. */
async function localAccess(store: Store, dataDirectory: string, now: number): Promise<{ teamId: string; token: string }> {
  const path = join(dataDirectory, 'token');
  const kept = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  const token = newSecret('local');
  const result = await store.transaction().execute(async (trx) => {
    const credential = await firstCredential(trx, 'local');
    const known = kept === '' ? undefined : await findToken(trx, secretHash(kept), now);
    if (credential !== undefined && known?.credentialId === credential.id) return { teamId: credential.team_id, token: kept };
    const created_at = isoTime(now);
    const owner = credential ?? { id: randomUUID(), team_id: randomUUID() };
    if (credential === undefined) {
      await insertTeam(trx, { id: owner.team_id, name: 'Local', created_at });
      await insertCredential(trx, { id: owner.id, team_id: owner.team_id, kind: 'local', name: 'Local', created_at });
    }
    await deleteTokens(trx, owner.id);
    await insertToken(trx, { hash: secretHash(token), credential_id: owner.id, created_at, expires_at: null });
    return { teamId: owner.team_id, token };
  });
  if (result.token !== kept) {
    await writeFile(`${path}.new`, `${result.token}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  await chmod(path, 0o600);
  return result;
}

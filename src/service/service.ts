/** The local service put together: a data directory, the engine that works on it, and the HTTP server in front. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { makeDataDirectory } from '../base/data-directory.ts';
import { version } from '../base/version.ts';
import { serviceApi } from './api/index.ts';
import { refuseUnfinished } from './backup/unfinished.ts';
import { savePlans } from './engine/access/given-plans.ts';
import { driveBuilderRun } from './engine/agents/builder-driver.ts';
import { fireSchedule } from './engine/agents/schedules.ts';
import { generateArtifact } from './engine/artifacts/driver.ts';
import { refreshDue } from './engine/artifacts/schedule.ts';
import { BackupHolds } from './engine/backup/backup-hold.ts';
import { probeLimit } from './engine/connections/limits.ts';
import { dispatchCases } from './engine/dispatch/dispatch.ts';
import type { Engine } from './engine/engine.ts';
import { Worker } from './engine/jobs/worker.ts';
import { evaluateRun } from './engine/runs/evaluations.ts';
import { claimRun, driveRun } from './engine/runs/run-driver.ts';
import { forgetRuns, planRunRetention } from './engine/runs/run-retention.ts';
import { expireStagedSandbox } from './engine/runs/sandbox-expiry.ts';
import { expireRunSandboxes, planRetention } from './engine/runs/sandbox-retention.ts';
import { deliverDue } from './engine/webhooks/delivery.ts';
import { forgetDeliveries } from './engine/webhooks/retention.ts';
import { ChangeFeed } from './events/change-feed.ts';
import { StreamSlots } from './events/stream-slots.ts';
import { FileStore } from './files/file-store.ts';
import { TrustedProxies } from './http/client-address.ts';
import { IdempotencyLayer } from './http/idempotency/idempotency.ts';
import { KnownTokens } from './http/known-tokens.ts';
import { defaultHttpLimits } from './http/limits.ts';
import { originCheck } from './http/origin.ts';
import { RateLimiter } from './http/rate-limit.ts';
import { RememberedAnswers } from './http/remembered.ts';
import { Router } from './http/router.ts';
import { type HttpServer, listen } from './http/server.ts';
import { checkTls, requireTls } from './http/tls.ts';
import { localAccess } from './local-access.ts';
import { createLog, errorFields } from './log.ts';
import { Readiness } from './operating/readiness.ts';
import { ServiceMetrics } from './operating/service-metrics.ts';
import { GuardedAgent } from './outbound/guarded-agent.ts';
import { HostRules, wordFor } from './outbound/host-rules.ts';
import { Sender } from './outbound/sender.ts';
import { scriptRuntime } from './runtimes/script/script-runtime.ts';
import { systemPath } from './sandbox/exec.ts';
import { SandboxStore } from './sandbox/sandbox.ts';
import { SecretBox } from './secret-box.ts';
import type { Service, ServiceOptions } from './service-options.ts';
import { UrlSigner } from './signed-urls.ts';
import { largestConcurrency } from './store/access/plans.ts';
import { dataFailure } from './store/database/data-failure.ts';
import { openDatabase } from './store/database/database.ts';
import { settingOrCreate } from './store/database/settings.ts';
import { isoTime } from './store/database/time.ts';
import { nudgeJob, reclaimJobs, releaseJob } from './store/jobs/jobs.ts';
import { jobKinds } from './store/jobs/kinds.ts';

export type { BrowsePolicy } from './browser/chromium.ts';
export type { LogEntry, LogLevel } from './log.ts';
export { logLevels } from './log.ts';
export { parsePlan } from './plans/plan-file.ts';
export type { Service, ServiceOptions } from './service-options.ts';

const drainTime = 5_000;
/** Endpoints that are delivered to at the same time. */
const deliveredEndpoints = 32;
/** Milliseconds between looks for answers under idempotency keys whose time is over. */
const keySweepInterval = 600_000;

/**
 * Starts the service. Throws AopsError `data_directory_unusable`, `data_directory_in_use`, `data_directory_newer`, `data_directory_damaged`, `data_directory_foreign`, `not_writable`, `not_readable`, `disk_full`, `restore_unfinished`, `port_in_use`, `webhook_host_invalid`, `connection_host_invalid`, `secret_key_invalid`, `trusted_proxy_invalid`, `tls_required`, `tls_invalid` or `team_not_found`.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dataDirectory, host = '127.0.0.1', port = 0, clock = systemClock } = options;
  const proxies = new TrustedProxies(options.trustedProxies);
  requireTls({ ...options, host });
  if (options.tls !== undefined) checkTls(options.tls, clock.now());
  await makeDataDirectory(dataDirectory);
  refuseUnfinished(dataDirectory);
  const log = createLog(() => clock.now(), options.log, options.logLevel);
  const store = await openDatabase(dataDirectory, (damage) =>
    log('warn', 'part of the write-ahead log is damaged and was ignored: the latest changes may be missing; compare with a backup', {
      ...damage,
    }),
  );
  try {
    const instanceId = randomUUID();
    const { teamId, token } = await localAccess(store, dataDirectory, clock.now());
    await savePlans(store, options, { teamId, now: isoTime(clock.now()) });
    const runConcurrency = options.runConcurrency ?? (await largestConcurrency(store));
    const box = await SecretBox.open(join(dataDirectory, 'secrets.key'));
    const engine = createEngine({ ...options, runConcurrency }, { store, clock, log, instanceId, box });
    const signer = new UrlSigner(await settingOrCreate(store, 'url_signing_key', () => randomBytes(32).toString('base64url')));
    // Nobody else can have the database open: what was being worked on is free again.
    const continued = await reclaimJobs(store, clock.now());
    const idempotency = new IdempotencyLayer({ store, clock, owner: instanceId, log, bounds: options.idempotencyBounds });
    engine.worker.handle(jobKinds.forgetKeys, 1, async (job) => {
      await idempotency.forgetExpired();
      await releaseJob(store, job, { status: 'queued', dueAt: clock.now() + keySweepInterval });
    });
    const readiness = new Readiness({ store, worker: engine.worker, clock, log });
    const metrics = new ServiceMetrics(clock.now(), options.usage);
    const scheme = options.tls === undefined ? 'http' : 'https';
    const { publicUrl, allowedHosts = [] } = options;
    const limits = { ...defaultHttpLimits, ...options.httpLimits };
    const server = await listen(
      {
        api: serviceApi,
        engine,
        early: { ...engine, store: store.early },
        signer,
        instanceId,
        checkOrigin: originCheck({ scheme, host, publicUrl, names: allowedHosts }),
        proxies,
        limits,
        streams: {
          feed: new ChangeFeed(store.changes),
          slots: new StreamSlots({ total: limits.streams, perCredential: limits.streamsPerCredential }),
          heartbeatMilliseconds: limits.heartbeatMilliseconds,
        },
        limiter: new RateLimiter(options.rateLimit ?? { limit: 3_000, windowSeconds: 60 }, clock),
        attempts: new RateLimiter({ limit: 10, windowSeconds: 60 }, clock),
        idempotency,
        router: new Router(),
        tokens: new KnownTokens(store),
        remembered: new RememberedAnswers(store.changes),
        ...{ publicUrl, metrics, readiness, metricsToken: options.metricsToken },
      },
      { host, port, tls: options.tls },
    );
    for (const kind of [jobKinds.forgetDeliveries, jobKinds.forgetKeys])
      await nudgeJob(store, { kind, subjectId: 'all', dueAt: clock.now() });
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
    throw dataFailure(error, dataDirectory);
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
    sandboxes: new SandboxStore(join(options.dataDirectory, 'sandboxes'), {
      ...(options.commandPath === undefined ? {} : { path: options.commandPath }),
      trouble: (error) => log('warn', 'files of a run cannot be removed', errorFields(error)),
    }),
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
        refused: (host) => `the service may not connect to ${host}; to allow that, start it with --allow-connection-host ${wordFor(host)}`,
      }),
      box,
      renewals: new Map(),
    },
    browsing: { policy: 'off', searchPath: options.commandPath ?? systemPath, ...options.browsing },
    worker: new Worker({ store, clock, log, owner: instanceId }),
    backups: new BackupHolds({ store, clock, log }),
  };
  engine.worker.handle(jobKinds.run, options.runConcurrency, (job, signal) => driveRun(engine, job, signal), claimRun);
  engine.worker.handle(jobKinds.dispatchCases, 2, (job) => dispatchCases(engine, job));
  engine.worker.handle(jobKinds.builderRun, 2, (job, signal) => driveBuilderRun(engine, job, signal));
  engine.worker.handle(jobKinds.evaluate, 2, (job) => evaluateRun(engine, job));
  engine.worker.handle(jobKinds.schedule, 2, (job) => fireSchedule(engine, job));
  engine.worker.handle(jobKinds.artifact, 2, (job, signal) => generateArtifact(engine, job, signal));
  engine.worker.handle(jobKinds.refreshArtifact, 1, (job) => refreshDue(engine, job));
  engine.worker.handle(jobKinds.expireSandbox, 1, (job, signal) => expireStagedSandbox(engine, job, signal));
  engine.worker.handle(jobKinds.expireRunSandboxes, 1, (job, signal) => expireRunSandboxes(engine, job, signal));
  engine.worker.handle(jobKinds.deliver, deliveredEndpoints, (job, signal) => deliverDue(engine, job, signal));
  engine.worker.handle(jobKinds.forgetRuns, 1, (job, signal) => forgetRuns(engine, job, signal));
  engine.worker.handle(jobKinds.forgetDeliveries, 1, (job, signal) => forgetDeliveries(engine, job, signal));
  return engine;
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
  engine.backups.close();
  await engine.worker.close(time);
  await engine.webhooks.sender.close();
  await engine.connections.agent.close();
  await engine.store.destroy();
  engine.log('info', 'service stopped');
}

/** Wires the local service together: a data directory, the engine that works on it, and the HTTP server in front. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { makeDataDirectory } from '../base/data-directory.ts';
import { version } from '../base/version.ts';
import { serviceApi } from './api/index.ts';
import { refuseUnfinished } from './backup/unfinished.ts';
import { savePlans } from './engine/access/startup-plans.ts';
import { createEngine, type StartableEngine } from './engine/create-engine.ts';
import type { HasLog } from './engine/engine.ts';
import { engineJobs } from './engine/engine-jobs.ts';
import { claimTables } from './engine/jobs/worker.ts';
import { createHttpParts, httpSettings } from './http/create-parts.ts';
import { forgetKeysJob } from './http/idempotency/forget-keys.ts';
import { type HttpServer, listen } from './http/server.ts';
import { checkTls } from './http/tls.ts';
import { localAccess } from './local-access.ts';
import { createLog } from './log.ts';
import { Readiness } from './operating/readiness.ts';
import { ServiceMetrics } from './operating/service-metrics.ts';
import type { Service, ServiceOptions } from './service-options.ts';
import { openSharedSecrets } from './shared-secrets.ts';
import { UrlSigner } from './signed-urls.ts';
import { openStorage } from './store/data-directory.ts';
import { settingOrCreate } from './store/database/settings.ts';
import { isoTime } from './store/database/time.ts';
import type { Storage } from './store/storage.ts';

export type { BrowsePolicy } from './browser/chromium.ts';
export { findChromium } from './browser/chromium.ts';
export { requireBrowserLibrary } from './browser/library.ts';
export type { ExecSetting } from './contained/containment.ts';
export type { Shortfall } from './contained/shortfall.ts';
export { trialShortfall } from './contained/trial.ts';
export { ServiceError } from './errors.ts';
export type { LogEntry, LogLevel } from './log.ts';
export { logLevels } from './log.ts';
export { parsePlan } from './plans/plan-file.ts';
export { acpRegistry } from './runtimes/acp/registry.ts';
export { documentCheck, type Finding, type Problem } from './runtimes/document/check.ts';
export type { Service, ServiceOptions } from './service-options.ts';

/**
 * Starts the service. Throws AopsError `data_directory_unusable`, `data_directory_in_use`, `data_directory_newer`, `data_directory_damaged`, `data_directory_foreign`, `not_writable`, `not_readable`, `disk_full`, `restore_unfinished`, `port_in_use`, `webhook_host_invalid`, `connection_host_invalid`, `agent_host_invalid`, `secret_key_invalid`, `trusted_proxy_invalid`, `tls_required`, `tls_invalid`, `containment_unavailable` or `team_not_found`.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dataDirectory } = options;
  const settings = httpSettings(options, (options.clock ?? systemClock).now());
  await makeDataDirectory(dataDirectory);
  refuseUnfinished(dataDirectory);
  const log = createLog(() => (options.clock ?? systemClock).now(), options.log, options.logLevel);
  const instanceId = randomUUID();
  const storage = await openStorageOf(options, { log, instanceId });
  const { store, tokens, keys, copies, clock = systemClock } = storage;
  try {
    const { teamId, token } = await localAccess(store, dataDirectory, clock.now());
    await savePlans(store, options, { teamId, now: isoTime(clock.now()) });
    const reclaimedCount = await storage.reclaim(clock.now());
    const secrets =
      options.database && (await openSharedSecrets(store, options.database.secretKeyFile ?? join(dataDirectory, 'secrets.key')));
    const engine = await createEngine({ ...options, ...(secrets && { secrets }) }, { store, copies, clock, log, instanceId });
    const signer = new UrlSigner(await settingOrCreate(store, 'url_signing_key', () => randomBytes(32).toString('base64url')));
    const readiness = new Readiness({ store, worker: engine.worker, containment: engine.containment, clock, log });
    const metrics = new ServiceMetrics(clock.now(), options.usage);
    const parts = createHttpParts(settings, { api: serviceApi, engine, tokens, keys, signer, instanceId, metrics, readiness });
    const jobs = [...engineJobs, forgetKeysJob(keys)];
    for (const job of jobs) await job.atStart?.(engine);
    const server = await listen(parts, settings);
    const host = ownAddress(settings.host);
    await demonstrateContainment(engine, server, host);
    engine.runTokens.open(`${settings.scheme}://${inUrl(host)}:${server.port}/v2/mcp`);
    const publicUrl = settings.publicUrl ?? `${settings.scheme}://${inUrl(host)}:${server.port}`;
    engine.webhooks.links.open(signer, publicUrl);
    engine.worker.start(jobs, engine);
    store.changes.onRemoteChange((table, ids) => {
      if (table === undefined || claimTables.includes(table)) engine.worker.noticeChanges(ids);
    });
    const url = `${settings.scheme}://${inUrl(settings.host)}:${server.port}`;
    log('info', 'service started', { url, version, instance: instanceId, continued: reclaimedCount });
    let closed: Promise<void> | undefined;
    return {
      ...{ url, port: server.port, teamId, token, instanceId },
      ...{ exec: engine.containment.level, shortfall: engine.containment.shortfall, agentConcurrency: engine.agentConcurrency },
      setTls(pair) {
        checkTls(pair, clock.now());
        server.setTls(pair);
      },
      close: () => (closed ??= close({ engine, server, readiness, metrics }, options.drain)),
    };
  } catch (error) {
    await store.destroy();
    throw storage.failure(error);
  }
}

async function openStorageOf(
  { dataDirectory, clock, database, idempotencyBounds: bounds }: ServiceOptions,
  { log, instanceId }: HasLog & { instanceId: string },
): Promise<Storage> {
  if (database !== undefined) {
    const { openSharedStorage } = await import('./store/shared-storage.ts');
    const { url, maxConnections } = database;
    return openSharedStorage({ url, maxConnections, instanceId, clock, bounds });
  }
  const onDamage = (damage: object): void =>
    log('warn', 'part of the write-ahead log is damaged and was ignored: the latest changes may be missing; compare with a backup', {
      ...damage,
    });
  const time = clock ?? systemClock;
  return { ...(await openStorage(dataDirectory, { clock: time, bounds, onDamage })), clock: time };
}

const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Where programs on this machine reach a service that listens on a host, which can stand for all addresses. */
const ownAddress = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** Before any run is executed. @param host an address of this machine @throws AopsError `containment_unavailable` */
async function demonstrateContainment({ containment, log }: StartableEngine, server: HttpServer, host: string): Promise<void> {
  await containment.start(host, server.port).catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });
  if (containment.shortfall !== undefined) log('warn', 'commands cannot be contained, so they are off', { ...containment.shortfall });
}

/** Stops the parts of the service in the order in which they depend on one another. */
async function close(
  { engine, server, readiness, metrics }: { engine: StartableEngine; server: HttpServer; readiness: Readiness; metrics: ServiceMetrics },
  { delay = 0, time = 5_000 }: NonNullable<ServiceOptions['drain']> = {},
): Promise<void> {
  readiness.drain();
  engine.log('info', 'service draining');
  if (delay > 0) await systemClock.sleep(delay);
  await server.close(time);
  metrics.close();
  engine.backups.close();
  await engine.worker.close(time);
  await Promise.all([...engine.runtimes.values()].map((runtime) => runtime.close?.()));
  await engine.webhooks.sender.close();
  await engine.push.sender.close();
  await engine.connections.agent.close();
  await engine.store.destroy();
  engine.log('info', 'service stopped');
}

/** Wires the local service together: a data directory, the engine that works on it, and the HTTP server in front. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { makeDataDirectory } from '../base/data-directory.ts';
import { version } from '../base/version.ts';
import type { Administration, AdministrationOptions } from './administration.ts';
import { serviceApi } from './api/index.ts';
import { refuseUnfinished } from './backup/unfinished.ts';
import { savePlans } from './engine/access/startup-plans.ts';
import { createEngine, type StartableEngine } from './engine/create-engine.ts';
import type { HasClock, HasLog, HasStore } from './engine/engine.ts';
import { engineJobs } from './engine/engine-jobs.ts';
import { filePlaceOf } from './engine/files/shared-place.ts';
import { claimTables } from './engine/jobs/worker.ts';
import { createHttpParts, httpSettings } from './http/create-parts.ts';
import { forgetKeysJob } from './http/idempotency/forget-keys.ts';
import { type HttpServer, listen } from './http/server.ts';
import { checkTls } from './http/tls.ts';
import { localAccess, ownerOf } from './local-access.ts';
import { createLog, ofNode } from './log.ts';
import { NodeHeartbeat } from './operating/node-heartbeat.ts';
import { Readiness } from './operating/readiness.ts';
import { ServiceMetrics } from './operating/service-metrics.ts';
import type { Service, ServiceOptions } from './service-options.ts';
import { openSharedSecrets } from './shared-secrets.ts';
import { UrlSigner } from './signed-urls.ts';
import { openStorage } from './store/data-directory.ts';
import type { Store } from './store/database/database.ts';
import { isShared } from './store/database/row-locks.ts';
import { settingOrCreate } from './store/database/settings.ts';
import { isoTime } from './store/database/time.ts';
import type { Storage } from './store/storage.ts';

export type { Administration, SeenNode } from './administration.ts';
export type { BrowsePolicy } from './browser/chromium.ts';
export { findChromium } from './browser/chromium.ts';
export { requireBrowserLibrary } from './browser/library.ts';
export type { ExecSetting } from './contained/containment.ts';
export type { Shortfall } from './contained/shortfall.ts';
export { trialShortfall } from './contained/trial.ts';
export { ServiceError } from './errors.ts';
export { type FileStoreSetting, parseFileStore } from './files/setting.ts';
export type { LogEntry, LogLevel } from './log.ts';
export { logLevels } from './log.ts';
export { parsePlan } from './plans/plan-file.ts';
export { acpRegistry } from './runtimes/acp/registry.ts';
export { documentCheck, type Finding, type Problem } from './runtimes/document/check.ts';
export type { Service, ServiceOptions } from './service-options.ts';

/**
 * Opens a database that several nodes share for the operations of its owner, without executing anything. Its tables must exist.
 * Throws what `connectPostgres` does.
 */
export async function startAdministration(options: AdministrationOptions): Promise<Administration> {
  const administration = await import('./administration.ts');
  return administration.startAdministration(options);
}

/**
 * Starts the service. Throws AopsError `data_directory_unusable`, `data_directory_in_use`, `data_directory_newer`, `data_directory_damaged`, `data_directory_foreign`, `not_writable`, `not_readable`, `disk_full`, `restore_unfinished`, `port_in_use`, `webhook_host_invalid`, `connection_host_invalid`, `agent_host_invalid`, `secret_key_invalid`, `trusted_proxy_invalid`, `tls_required`, `tls_invalid`, `containment_unavailable`, `file_store_needs_database`, `file_store_invalid`, `file_store_unusable`, `file_store_mismatch`, `node_name_taken` or `team_not_found`.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { dataDirectory } = options;
  const settings = httpSettings(options, (options.clock ?? systemClock).now());
  await makeDataDirectory(dataDirectory);
  refuseUnfinished(dataDirectory);
  const nodeName = options.database && (options.database.nodeName ?? hostname());
  const receiveLog = options.log && nodeName !== undefined ? ofNode(nodeName, options.log) : options.log;
  const log = createLog(() => (options.clock ?? systemClock).now(), receiveLog, options.logLevel);
  const instanceId = randomUUID();
  const storage = await openStorageOf(options, { log, instanceId, nodeName });
  const { store, tokens, keys, rateWindows, copies, connections, clock = systemClock } = storage;
  try {
    const { teamId, token } = await ownAccess(options, store, clock.now());
    await savePlans(store, options, { teamId, now: isoTime(clock.now()) });
    const reclaimedCount = await storage.reclaim(clock.now());
    const secrets =
      options.database &&
      (await openSharedSecrets(store, options.database.secretKey ?? options.database.secretKeyFile ?? join(dataDirectory, 'secrets.key')));
    const engine = await createEngine({ ...options, ...(secrets && { secrets }) }, { store, copies, clock, log, instanceId });
    const signer = new UrlSigner(await settingOrCreate(store, 'url_signing_key', () => randomBytes(32).toString('base64url')));
    const readiness = new Readiness({ ...engine, connections });
    const metrics = new ServiceMetrics({ startedAt: clock.now(), usage: options.usage, worker: engine.worker, connections });
    const parts = createHttpParts(settings, { api: serviceApi, engine, tokens, keys, rateWindows, signer, instanceId, metrics, readiness });
    const jobs = [...engineJobs, forgetKeysJob(keys, rateWindows)];
    for (const job of jobs) await job.atStart?.(engine);
    const server = await listen(parts, settings);
    const host = ownAddress(settings.host);
    await orStopListening(server, demonstrateContainment(engine, host, server.port));
    engine.runTokens.open(`${settings.scheme}://${inUrl(host)}:${server.port}/v2/mcp`);
    const publicUrl = settings.publicUrl ?? `${settings.scheme}://${inUrl(host)}:${server.port}`;
    engine.webhooks.links.open(signer, publicUrl);
    const facts = { id: instanceId, name: nodeName, url: publicUrl };
    const { node, heartbeat } = await orStopListening(server, joinNodes(options, { store, clock, connections, log }, facts));
    // From here on nothing fails: a worker would keep the process alive, and could not do anything.
    engine.worker.start(jobs, engine);
    engine.workspaces.start?.();
    store.changes.onRemoteChange((table, ids) => {
      if (table === undefined || claimTables.includes(table)) engine.worker.noticeChanges(ids);
    });
    const url = `${settings.scheme}://${inUrl(settings.host)}:${server.port}`;
    log('info', 'service started', { url, version, instance: instanceId, continued: reclaimedCount });
    let closed: Promise<void> | undefined;
    return {
      ...{ url, port: server.port, teamId, token, instanceId, node },
      ...{ exec: engine.containment.level, shortfall: engine.containment.shortfall, agentConcurrency: engine.agentConcurrency },
      setTls(pair) {
        checkTls(pair, clock.now());
        server.setTls(pair);
      },
      close: () => (closed ??= close({ engine, server, readiness, metrics, heartbeat }, options.drain)),
    };
  } catch (error) {
    await store.destroy();
    throw storage.failure(error);
  }
}

async function openStorageOf(
  { dataDirectory, clock, database, idempotencyBounds: bounds }: ServiceOptions,
  { log, instanceId, nodeName }: HasLog & { instanceId: string; nodeName: string | undefined },
): Promise<Storage> {
  if (database !== undefined) {
    const { openSharedStorage } = await import('./store/shared-storage.ts');
    const { url, maxConnections } = database;
    const hasOwnName = database.nodeName !== undefined;
    return openSharedStorage({ url, maxConnections, instanceId, name: nodeName, hasOwnName, clock, bounds });
  }
  const onDamage = (damage: object): void =>
    log('warn', 'part of the write-ahead log is damaged and was ignored: the latest changes may be missing; compare with a backup', {
      ...damage,
    });
  const time = clock ?? systemClock;
  return { ...(await openStorage(dataDirectory, { clock: time, bounds, onDamage })), clock: time };
}

/** The team of the owner, and a token of the owner unless the service is a node: other nodes are not on this machine. */
async function ownAccess(
  { dataDirectory, database }: ServiceOptions,
  store: Store,
  now: number,
): Promise<{ teamId: string; token: string }> {
  if (database === undefined || database.ownerToken) return localAccess(store, dataDirectory, now);
  return { teamId: (await ownerOf(store, now)).teamId, token: '' };
}

/** Adds this process to the nodes of a shared database. @throws AopsError `file_store_mismatch` */
async function joinNodes(
  { database, files }: ServiceOptions,
  { connections, log, ...parts }: HasStore & HasClock & HasLog & Pick<Storage, 'connections'>,
  { id, name, url }: { id: string; name: string | undefined; url: string },
): Promise<{ node: Service['node']; heartbeat: NodeHeartbeat | undefined }> {
  if (connections === undefined || name === undefined) return { node: undefined, heartbeat: undefined };
  if (connections.isReadable)
    log('warn', 'the connections to the database are not encrypted', {
      database: connections.inWords,
      advice: 'Turn TLS on in the server, and add sslmode=verify-full to the URL.',
    });
  const facts = { id, name, url, connections: connections.maxCount };
  const heartbeat = await NodeHeartbeat.start(parts, facts, {
    hasOwnName: database?.nodeName !== undefined,
    files: await filePlaceOf(files),
  });
  return { node: { name, database: connections.inWords }, heartbeat };
}

const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Where programs on this machine reach a service that listens on a host, which can stand for all addresses. */
const ownAddress = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** Waits for a part of the start. If it fails, the server is closed, which would keep the process alive. */
const orStopListening = <Result>(server: HttpServer, part: Promise<Result>): Promise<Result> =>
  part.catch(async (error: unknown) => {
    await server.close(0);
    throw error;
  });

/** Before any run is executed. @param host an address of this machine @throws AopsError `containment_unavailable` */
async function demonstrateContainment({ containment, log }: StartableEngine, host: string, port: number): Promise<void> {
  await containment.start(host, port);
  if (containment.shortfall !== undefined) log('warn', 'commands cannot be contained, so they are off', { ...containment.shortfall });
}

interface ClosableParts {
  engine: StartableEngine;
  server: HttpServer;
  readiness: Readiness;
  metrics: ServiceMetrics;
  heartbeat: NodeHeartbeat | undefined;
}

/** Stops the parts of the service in the order in which they depend on one another. */
async function close(
  { engine, server, readiness, metrics, heartbeat }: ClosableParts,
  { delay = 0, time = 5_000 }: NonNullable<ServiceOptions['drain']> = {},
): Promise<void> {
  readiness.drain();
  engine.log('info', 'service draining');
  // Other nodes continue the work of this one while it still answers requests.
  const handover = isShared(engine.store) ? engine.worker.close(time) : undefined;
  if (delay > 0) await systemClock.sleep(delay);
  await server.close(time);
  metrics.close();
  engine.backups.close();
  await (handover ?? engine.worker.close(time));
  await Promise.all([...engine.runtimes.values()].map((runtime) => runtime.close?.()));
  await engine.workspaces.close?.();
  await engine.webhooks.sender.close();
  await engine.push.sender.close();
  await engine.connections.agent.close();
  await engine.files.close();
  await heartbeat?.close();
  await engine.store.destroy();
  engine.log('info', 'service stopped');
}

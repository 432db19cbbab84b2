/**
 * The operations of the owner on a shared database, for whoever may open the database: no node has to run, and no node's token is
 * involved. It is the service itself on a port of this machine, with a token for the time that it takes, and without executing jobs.
 */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceApi } from './api/index.ts';
import { savePlans } from './engine/access/startup-plans.ts';
import { createEngine } from './engine/create-engine.ts';
import { createHttpParts, httpSettings } from './http/create-parts.ts';
import { listen } from './http/server.ts';
import { ownerOf } from './local-access.ts';
import type { Log } from './log.ts';
import { Readiness } from './operating/readiness.ts';
import { ServiceMetrics } from './operating/service-metrics.ts';
import { SecretBox } from './secret-box.ts';
import { newSecret, secretHash } from './secret-hash.ts';
import { UrlSigner } from './signed-urls.ts';
import { deleteToken, insertToken } from './store/access/credentials.ts';
import type { Plan } from './store/access/plan.ts';
import { nodeSilence } from './store/database/node-silence.ts';
import type { NodeRow } from './store/database/schema.ts';
import { isoTime } from './store/database/time.ts';
import { listNodes, listNodeWork, type NodeWork } from './store/nodes/nodes.ts';
import { openSharedStorage } from './store/shared-storage.ts';

/** Milliseconds after which the token expires even if it could not be removed. */
const tokenLifetime = 3_600_000;

/** A node, and what it works on. */
export interface SeenNode extends NodeRow {
  isAlive: boolean;
  work: NodeWork[];
}

export interface Administration {
  /** Where this process serves the operations, and the token for them. */
  readonly url: string;
  readonly token: string;
  readonly teamId: string;
  /** The database as `host:port/database`. */
  readonly database: string;
  /** Where clients reach the service: the address that was passed, or else that of a node; undefined if no node is running. */
  readonly publicUrl: string | undefined;
  nodes(): Promise<SeenNode[]>;
  /** Stores the plan of the owner's team, or of another one by its name or ID. @throws AopsError `team_not_found` */
  savePlan(plan: Plan, team: string | undefined): Promise<void>;
  close(): Promise<void>;
}

export interface AdministrationOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Where clients reach the service. By default, the address of a node. */
  publicUrl?: string | undefined;
}

/** Opens a database whose tables exist. Throws what `connectPostgres` does. */
export async function startAdministration(options: AdministrationOptions): Promise<Administration> {
  const instanceId = randomUUID();
  const storage = await openSharedStorage({
    ...{ url: options.url, instanceId, name: 'administration', maxConnections: 2 },
    ...{ bounds: undefined, requireTables: true },
  });
  const { store, tokens, keys, rateWindows, copies, connections, clock } = storage;
  const token = newSecret('local');
  try {
    const nodes = async (): Promise<SeenNode[]> => {
      const [rows, work] = [await listNodes(store), await listNodeWork(store)];
      return rows.map((row) => ({
        ...row,
        isAlive: row.seen_at > clock.now() - nodeSilence,
        work: work.filter(({ owner }) => owner === row.id),
      }));
    };
    const log: Log = () => undefined;
    const owner = await ownerOf(store, clock.now());
    const publicUrl = options.publicUrl ?? (await nodes()).find(({ isAlive }) => isAlive)?.url;
    const settings = httpSettings({ ...(publicUrl === undefined ? {} : { publicUrl }) }, clock.now());
    const engine = await createEngine(
      // Nothing is encrypted, and nothing is written to the folder: these operations only change rows.
      { dataDirectory: join(tmpdir(), `aops-administration-${instanceId}`), exec: 'off', secrets: SecretBox.create() },
      { store, copies, clock, log, instanceId },
    );
    const readiness = new Readiness({ ...engine, connections });
    const metrics = new ServiceMetrics({ startedAt: clock.now(), usage: undefined, worker: engine.worker, connections });
    const signer = new UrlSigner('');
    const parts = createHttpParts(settings, { api: serviceApi, engine, tokens, keys, rateWindows, signer, instanceId, metrics, readiness });
    const server = await listen(parts, settings);
    await insertToken(store, {
      ...{ hash: secretHash(token), credential_id: owner.credentialId },
      ...{ created_at: isoTime(clock.now()), expires_at: clock.now() + tokenLifetime },
    });
    return {
      ...{ url: `http://127.0.0.1:${server.port}`, token, teamId: owner.teamId, database: connections.inWords, publicUrl, nodes },
      savePlan: (plan, team) =>
        savePlans(store, team === undefined ? { plan } : { teamPlans: new Map([[team, plan]]) }, {
          ...{ teamId: owner.teamId, now: isoTime(clock.now()) },
        }),
      async close() {
        await server.close(0);
        metrics.close();
        await deleteToken(store, secretHash(token)).catch(() => undefined);
        await store.destroy();
      },
    };
  } catch (error) {
    await store.destroy();
    throw error;
  }
}

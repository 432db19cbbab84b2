/**
 * The parts that the functions of the engine work with. Each function names the parts that it uses, such as `HasStore & HasClock`;
 * the whole `Engine` belongs to whoever builds it, runs the jobs, or handles requests.
 */
import type { Clock } from '../../base/clock.ts';
import type { BrowserOptions } from '../browser/chromium.ts';
import type { Renewals } from '../connections/renewals.ts';
import type { FileStore } from '../files/file-store.ts';
import type { Log } from '../log.ts';
import type { Timing } from '../outbound/attempt-times.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import type { Sender } from '../outbound/sender.ts';
import type { PageLinks } from '../page-links.ts';
import type { Repositories } from '../repositories/repositories.ts';
import type { RunTokens } from '../runtimes/run-tokens.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { Launcher } from '../sandbox/launch.ts';
import type { SandboxStore } from '../sandbox/sandbox-store.ts';
import type { SecretBox } from '../secret-box.ts';
import type { Store, UnitOfWork } from '../store/database/database.ts';
import type { BackupHolds } from './backup/backup-hold.ts';
import type { JobSignals } from './jobs/worker.ts';
import type { Workspaces } from './run-workspaces.ts';

export interface HasStore {
  readonly store: Store;
}

export interface HasClock {
  readonly clock: Clock;
}

export interface HasLog {
  readonly log: Log;
}

export interface HasRuntimes {
  /** By the name in `models.agent.model`. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
}

export interface HasRunTokens {
  /** The tokens of agents that are running. */
  readonly runTokens: RunTokens;
}

export interface HasSandboxes {
  readonly sandboxes: SandboxStore;
}

export interface HasWorkspaces {
  /** The files of sandboxes, on this node or another one. */
  readonly workspaces: Workspaces;
}

export interface HasRepositories {
  readonly repositories: Repositories;
}

export interface HasFiles {
  readonly files: FileStore;
}

/** What runs may do on this machine. */
export interface HasRunPolicy {
  /** Whether runs may execute commands, and what confines them. */
  readonly containment: Launcher;
  /** Whether runs may browse, and with which browser. */
  readonly browsing: BrowserOptions;
}

export interface HasRunConcurrency {
  /** Runs executed at the same time by this process. */
  readonly runConcurrency: number;
}

/** For how many milliseconds things are kept after the end of a run; undefined means for ever. */
export interface HasRetention {
  readonly sandboxRetention: number | undefined;
  readonly runRetention: number | undefined;
}

export interface HasWorker {
  readonly worker: JobSignals;
}

export interface HasBackups {
  /** What has to wait while the data directory is being copied. */
  readonly backups: Pick<BackupHolds, keyof BackupHolds>;
}

export interface HasWebhooks {
  readonly webhooks: {
    readonly sender: Sender;
    readonly timing: Timing;
    /** Links in messages to people. */
    readonly links: PageLinks;
  };
}

export interface HasPush {
  readonly push: {
    readonly sender: Sender;
    readonly timing: Timing;
    /** Encrypts the endpoints and keys of browsers, and the key that identifies this service to push services. */
    readonly box: SecretBox;
  };
}

export interface HasConnections {
  readonly connections: {
    /** Connects to remote servers. */
    readonly agent: GuardedAgent;
    /** Encrypts their secrets. */
    readonly box: SecretBox;
    readonly renewals: Pick<Renewals, 'run'>;
  };
}

export interface Engine
  extends HasStore,
    HasClock,
    HasLog,
    HasRuntimes,
    HasRunTokens,
    HasSandboxes,
    HasWorkspaces,
    HasRepositories,
    HasFiles,
    HasRunPolicy,
    HasRunConcurrency,
    HasRetention,
    HasWorker,
    HasBackups,
    HasWebhooks,
    HasPush,
    HasConnections {}

/** The engine for one unit of work: jobs learn of its changes when they are on the disk, and a hold ends if they are not. */
export const inUnit = (engine: Engine, { store, afterCommit, onRollback }: UnitOfWork): Engine => ({
  ...engine,
  store,
  backups: engine.backups.inUnit(onRollback),
  worker: {
    nextWake: () => engine.worker.nextWake(),
    isWaitedFor: (kind) => engine.worker.isWaitedFor(kind),
    wake: () => afterCommit(() => engine.worker.wake()),
    abort: (kind, subjectId, reason) => afterCommit(() => engine.worker.abort(kind, subjectId, reason)),
  },
});

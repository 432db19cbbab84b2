/** What the engine's functions share; service.ts puts it together. */
import type { Clock } from '../../base/clock.ts';
import type { SingleFlight } from '../../base/single-flight.ts';
import type { Browsing } from '../browser/chromium.ts';
import type { KeptOAuth } from '../connections/secrets.ts';
import type { FileStore } from '../files/file-store.ts';
import type { Log } from '../log.ts';
import type { Timing } from '../outbound/attempt-times.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import type { Sender } from '../outbound/sender.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { SandboxStore } from '../sandbox/sandbox.ts';
import type { SecretBox } from '../secret-box.ts';
import type { Store } from '../store/database/database.ts';
import type { BackupHolds } from './backup/backup-hold.ts';
import type { Worker } from './jobs/worker.ts';

export interface Engine {
  readonly store: Store;
  readonly clock: Clock;
  /** By the word in `models.agent.model`. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly sandboxes: SandboxStore;
  readonly files: FileStore;
  /** Whether runs may execute commands on this machine. */
  readonly exec: 'host' | 'off';
  /** Whether runs may browse, and with which browser. */
  readonly browsing: Browsing;
  /** Milliseconds for which the files of a run are kept after its end; undefined is for ever. */
  readonly sandboxRetention: number | undefined;
  /** Milliseconds for which a run is kept after its end; undefined is for ever. */
  readonly runRetention: number | undefined;
  /** Runs executed at the same time by this process. */
  readonly runConcurrency: number;
  readonly worker: Worker;
  /** What waits while the data directory is copied. */
  readonly backups: BackupHolds;
  readonly webhooks: { readonly sender: Sender; readonly timing: Timing };
  /** How remote servers are reached, and what keeps their secrets. */
  readonly connections: {
    readonly agent: GuardedAgent;
    readonly box: SecretBox;
    /** Renews the access token of a connection once for everybody who needs it: a refresh token might be valid for a single use. */
    readonly renewals: SingleFlight<KeptOAuth>;
  };
  readonly log: Log;
}

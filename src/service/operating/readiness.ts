/** Whether the service is ready for requests: it can write and store files, its worker is running, and it is not shutting down. */
import type { Clock } from '../../base/clock.ts';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { type HostTrouble, hostTrouble } from '../host-trouble.ts';
import { errorFields, type Log } from '../log.ts';
import type { ExecLevel } from '../sandbox/launch.ts';
import type { DatabaseConnections } from '../store/database/connections.ts';
import type { Store } from '../store/database/database.ts';
import { touchSetting } from '../store/database/settings.ts';

type Check = 'ok' | 'failed';

export interface ReadyState {
  status: 'ready' | 'draining' | 'not_ready';
  /** `notifications` for a database that several nodes share: whether changes of the others arrive without polling. */
  checks: { store: Check; files: Check; worker: Check; notifications?: Check };
  /** How far commands of runs are confined. */
  exec: ExecLevel;
  /** The trouble of the host because of which nothing can be written, or no files can be stored, if known. */
  reason?: HostTrouble;
}

const checkOf = (isOk: boolean): Check => (isOk ? 'ok' : 'failed');

interface Result {
  check: Check;
  reason?: HostTrouble;
}

/** Milliseconds for which a check is reused, because anybody can request one, and each check writes to disk. */
const checkLifetime = 1_000;
/** Milliseconds that a check may take, because a disk might hang. */
const checkTimeout = 3_000;

interface ReadinessParts {
  store: Store;
  files: { check(): Promise<void> };
  worker: { isAlive(): boolean };
  containment: { readonly level: ExecLevel };
  clock: Clock;
  log: Log;
  connections?: Pick<DatabaseConnections, 'isListening'> | undefined;
}

export class Readiness {
  readonly #store: Store;
  readonly #files: ReadinessParts['files'];
  readonly #worker: { isAlive(): boolean };
  readonly #containment: { readonly level: ExecLevel };
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #connections: ReadinessParts['connections'];
  #isDraining = false;
  #lastCheck: { time: number; store: Promise<Result>; files: Promise<Result> } | undefined;

  constructor(parts: ReadinessParts) {
    this.#files = parts.files;
    this.#store = parts.store;
    this.#worker = parts.worker;
    this.#containment = parts.containment;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#connections = parts.connections;
  }

  /** From now on, the service is reported as draining. */
  drain(): void {
    this.#isDraining = true;
  }

  async state(): Promise<ReadyState> {
    const last = this.#check();
    const [store, files] = await Promise.all([last.store, last.files]);
    const checks: ReadyState['checks'] = {
      ...{ store: store.check, files: files.check, worker: checkOf(this.#worker.isAlive()) },
      ...(this.#connections === undefined ? {} : { notifications: checkOf(this.#connections.isListening()) }),
    };
    const isReady = Object.values(checks).every((result) => result === 'ok');
    const status = this.#isDraining ? 'draining' : isReady ? 'ready' : 'not_ready';
    const reason = store.reason ?? files.reason;
    return { status, checks, exec: this.#containment.level, ...(reason === undefined ? {} : { reason }) };
  }

  #check(): { store: Promise<Result>; files: Promise<Result> } {
    const now = steadyTime(this.#clock);
    if (this.#lastCheck === undefined || now - this.#lastCheck.time >= checkLifetime) {
      const store = touchSetting(this.#store, 'ready_checked_at', String(this.#clock.now()));
      this.#lastCheck = {
        time: now,
        store: this.#resultOf(store, 'the store cannot be written'),
        files: this.#resultOf(this.#files.check(), 'files cannot be stored'),
      };
    }
    return this.#lastCheck;
  }

  async #resultOf(work: Promise<void>, failure: string): Promise<Result> {
    const limit = new AbortController();
    const check = work.then((): Result => ({ check: 'ok' }));
    const timeout = systemClock.sleep(checkTimeout, limit.signal).then((): Result => ({ check: 'failed' }));
    timeout.catch(() => undefined);
    try {
      return await Promise.race([check, timeout]);
    } catch (error) {
      this.#log('error', failure, errorFields(error));
      const reason = hostTrouble(error);
      return { check: 'failed', ...(reason === undefined ? {} : { reason }) };
    } finally {
      limit.abort();
    }
  }
}

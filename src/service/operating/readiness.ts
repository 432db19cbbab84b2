/** Whether the service is ready for requests: it can write, its worker is running, and it is not shutting down. */
import type { Clock } from '../../base/clock.ts';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { type HostTrouble, hostTrouble } from '../host-trouble.ts';
import { errorFields, type Log } from '../log.ts';
import type { ExecLevel } from '../sandbox/launch.ts';
import type { Store } from '../store/database/database.ts';
import { touchSetting } from '../store/database/settings.ts';

type Check = 'ok' | 'failed';

export interface ReadyState {
  status: 'ready' | 'draining' | 'not_ready';
  checks: { store: Check; worker: Check };
  /** How far commands of runs are confined. */
  exec: ExecLevel;
  /** The trouble of the host because of which the store cannot be written, if known. */
  reason?: HostTrouble;
}

interface StoreCheck {
  check: Check;
  reason?: HostTrouble;
}

/** Milliseconds for which a check of the store is reused, because anybody can request one, and each check writes to disk. */
const checkLifetime = 1_000;
/** Milliseconds that a check may take, because a disk might hang. */
const checkTimeout = 3_000;

export class Readiness {
  readonly #store: Store;
  readonly #worker: { isAlive(): boolean };
  readonly #containment: { readonly level: ExecLevel };
  readonly #clock: Clock;
  readonly #log: Log;
  #isDraining = false;
  #lastCheck: { time: number; store: Promise<StoreCheck> } | undefined;

  constructor(parts: { store: Store; worker: { isAlive(): boolean }; containment: { readonly level: ExecLevel }; clock: Clock; log: Log }) {
    this.#store = parts.store;
    this.#worker = parts.worker;
    this.#containment = parts.containment;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** From now on, the service is reported as draining. */
  drain(): void {
    this.#isDraining = true;
  }

  async state(): Promise<ReadyState> {
    const { reason, check } = await this.#checkStore();
    const checks = { store: check, worker: this.#worker.isAlive() ? ('ok' as const) : ('failed' as const) };
    const isReady = checks.store === 'ok' && checks.worker === 'ok';
    const status = this.#isDraining ? 'draining' : isReady ? 'ready' : 'not_ready';
    return { status, checks, exec: this.#containment.level, ...(reason === undefined ? {} : { reason }) };
  }

  #checkStore(): Promise<StoreCheck> {
    const now = steadyTime(this.#clock);
    if (this.#lastCheck === undefined || now - this.#lastCheck.time >= checkLifetime)
      this.#lastCheck = { time: now, store: this.#write(this.#clock.now()) };
    return this.#lastCheck.store;
  }

  async #write(now: number): Promise<StoreCheck> {
    const limit = new AbortController();
    const writeCheck = touchSetting(this.#store, 'ready_checked_at', String(now)).then((): StoreCheck => ({ check: 'ok' }));
    const timeout = systemClock.sleep(checkTimeout, limit.signal).then((): StoreCheck => ({ check: 'failed' }));
    timeout.catch(() => undefined);
    try {
      return await Promise.race([writeCheck, timeout]);
    } catch (error) {
      this.#log('error', 'the store cannot be written', errorFields(error));
      const reason = hostTrouble(error);
      return { check: 'failed', ...(reason === undefined ? {} : { reason }) };
    } finally {
      limit.abort();
    }
  }
}

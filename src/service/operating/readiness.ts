/** Whether the service should be sent requests: it can write, its worker works, and it is not about to end. */
import type { Clock } from '../../base/clock.ts';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { type HostTrouble, hostTrouble } from '../host-trouble.ts';
import { errorFields, type Log } from '../log.ts';
import type { Store } from '../store/database/database.ts';
import { touchSetting } from '../store/database/settings.ts';

type Check = 'ok' | 'failed';

export interface ReadyState {
  status: 'ready' | 'draining' | 'not_ready';
  checks: { store: Check; worker: Check };
  /** What is wrong with the host, where that is known to be why the store cannot be written. */
  reason?: HostTrouble;
}

interface Look {
  check: Check;
  reason?: HostTrouble;
}

/** Milliseconds for which a look at the store is good: anybody may ask, and each look is written to the disk. */
const goodFor = 1_000;
/** Milliseconds that the store may take; a disk that hangs is no answer to wait for. */
const patience = 3_000;

export class Readiness {
  readonly #store: Store;
  readonly #worker: { isAlive(): boolean };
  readonly #clock: Clock;
  readonly #log: Log;
  #draining = false;
  #looked: { at: number; store: Promise<Look> } | undefined;

  constructor(parts: { store: Store; worker: { isAlive(): boolean }; clock: Clock; log: Log }) {
    this.#store = parts.store;
    this.#worker = parts.worker;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** From now on the service is not ready any more. */
  drain(): void {
    this.#draining = true;
  }

  async state(): Promise<ReadyState> {
    const { reason, check } = await this.#look();
    const checks = { store: check, worker: this.#worker.isAlive() ? ('ok' as const) : ('failed' as const) };
    const isWell = checks.store === 'ok' && checks.worker === 'ok';
    return { status: this.#draining ? 'draining' : isWell ? 'ready' : 'not_ready', checks, ...(reason === undefined ? {} : { reason }) };
  }

  #look(): Promise<Look> {
    const at = steadyTime(this.#clock);
    if (this.#looked === undefined || at - this.#looked.at >= goodFor) this.#looked = { at, store: this.#write(this.#clock.now()) };
    return this.#looked.store;
  }

  async #write(now: number): Promise<Look> {
    const limit = new AbortController();
    const written = touchSetting(this.#store, 'ready_checked_at', String(now)).then((): Look => ({ check: 'ok' }));
    const late = systemClock.sleep(patience, limit.signal).then((): Look => ({ check: 'failed' }));
    late.catch(() => undefined);
    try {
      return await Promise.race([written, late]);
    } catch (error) {
      this.#log('error', 'the store cannot be written', errorFields(error));
      const reason = hostTrouble(error);
      return { check: 'failed', ...(reason === undefined ? {} : { reason }) };
    } finally {
      limit.abort();
    }
  }
}

/**
 * A hold, which lets another process copy the data directory while the service runs. Meanwhile, the database file is not changed,
 * runs do not take another step, so that their files are copied as of that moment, and nothing is removed. Requests are still
 * answered. A hold ends unless it is extended, so a copy that was killed leaves nothing behind.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { errorFields, type Log } from '../../log.ts';
import type { UnitOfWork } from '../../store/database/database.ts';
import type { DatabaseCopies } from '../../store/storage.ts';
import { Gate } from './gate.ts';

/** Milliseconds after which a hold ends unless it is extended. */
const lease = 30_000;
/** Maximum time for which runs are held up, in milliseconds, because people are waiting for them. */
const runsWait = 15_000;

/** `everything`, or only `files` once the database and the files of active runs have been copied. */
export type HoldScope = 'everything' | 'files';

export interface Hold {
  readonly id: string;
  /** The time of the state in the database file, in milliseconds. */
  readonly createdAt: number;
  expiresAt: number;
  holds: HoldScope;
  /** Whether no run continued while everything was held. */
  runsWaited: boolean;
}

export class BackupHolds {
  /** Passed by everything that records the progress of a run. */
  readonly runs = new Gate();
  /** Passed by everything that removes rows together with their files. */
  readonly removals = new Gate();
  readonly #parts: { copies: DatabaseCopies; clock: Clock; log: Log };
  readonly #closing = new AbortController();
  #isCreating = false;
  #hold: Hold | undefined;
  #timerAbort = new AbortController();
  #release: Promise<void> = Promise.resolve();

  constructor(parts: { copies: DatabaseCopies; clock: Clock; log: Log }) {
    this.#parts = parts;
  }

  /** Starts a hold. Throws 409 `backup_running`. */
  async acquire(): Promise<Hold> {
    if (this.#hold !== undefined || this.#isCreating)
      throw new ServiceError(409, 'backup_running', 'The data directory is already being backed up; wait until that backup has finished.');
    this.#isCreating = true;
    try {
      // Removals can take a while, and runs need not wait for them.
      await this.removals.close();
      await this.runs.close();
      await this.#parts.copies.hold();
    } catch (error) {
      this.#open();
      throw error;
    } finally {
      this.#isCreating = false;
    }
    const now = this.#parts.clock.now();
    const hold: Hold = { id: randomUUID(), createdAt: now, expiresAt: now + lease, holds: 'everything', runsWaited: true };
    this.#hold = hold;
    this.#timerAbort = new AbortController();
    void this.#watch(hold);
    this.#parts.log('info', 'backup started', { hold: hold.id });
    return hold;
  }

  /** The same holds for one unit of work: a hold that is started in it ends if the unit is rolled back, because no caller learns its ID. */
  inUnit(onRollback: UnitOfWork['onRollback']): Pick<BackupHolds, keyof BackupHolds> {
    return {
      runs: this.runs,
      removals: this.removals,
      acquire: async () => {
        const hold = await this.acquire();
        onRollback(() => this.#abandon(hold));
        return hold;
      },
      prolong: (id, holds) => this.prolong(id, holds),
      release: (id) => this.release(id),
      inUnit: (undo) => this.inUnit(undo),
      close: () => this.close(),
    };
  }

  /** Extends a hold. Whatever was released is not held again. Throws 404 `backup_hold_not_found`. */
  async prolong(id: string, holds: HoldScope): Promise<Hold> {
    const hold = this.#require(id);
    hold.expiresAt = this.#parts.clock.now() + lease;
    if (holds === 'files' && hold.holds === 'everything') await this.#holdFilesOnly(hold);
    return hold;
  }

  /** Throws 404 `backup_hold_not_found`. */
  async release(id: string): Promise<void> {
    await this.#end(this.#require(id));
    this.#parts.log('info', 'backup ended', { hold: id });
  }

  /** Stops the timer of the current hold, because the service is ending. */
  close(): void {
    this.#closing.abort();
  }

  #require(id: string): Hold {
    if (this.#hold?.id !== id) throw notFound('backup_hold', id);
    return this.#hold;
  }

  async #holdFilesOnly(hold: Hold): Promise<void> {
    hold.holds = 'files';
    this.runs.open();
    this.#release = this.#parts.copies.release();
    await this.#release;
  }

  async #end(hold: Hold): Promise<void> {
    // The timer is stopped before anything is awaited, so that it is never that of the next hold.
    this.#timerAbort.abort();
    try {
      if (hold.holds === 'everything') await this.#holdFilesOnly(hold);
      // The gates might be about to be closed at this moment.
      else await this.#release;
    } finally {
      this.#hold = undefined;
      this.#open();
    }
  }

  #open(): void {
    this.runs.open();
    this.removals.open();
  }

  /** Ends a hold that is not extended, and lets runs continue when they have waited long enough. */
  async #watch(hold: Hold): Promise<void> {
    const { clock, log } = this.#parts;
    const signal = AbortSignal.any([this.#timerAbort.signal, this.#closing.signal]);
    const isStillHeld = async (until: number): Promise<boolean> => {
      await clock.sleep(until - clock.now(), signal).catch(() => undefined);
      return !signal.aborted;
    };
    if (!(await isStillHeld(hold.createdAt + runsWait))) return;
    if (hold.holds === 'everything') {
      hold.runsWaited = false;
      this.runs.open();
    }
    while (clock.now() < hold.expiresAt) if (!(await isStillHeld(hold.expiresAt))) return;
    log('warn', 'a backup was abandoned: its hold was not extended', { hold: hold.id });
    await this.#abandon(hold);
  }

  /** Ends a hold that is of no use to any caller. */
  async #abandon(hold: Hold): Promise<void> {
    if (this.#hold !== hold) return;
    try {
      await this.#end(hold);
    } catch (error) {
      this.#parts.log('error', 'a backup could not be ended', errorFields(error));
    }
  }
}

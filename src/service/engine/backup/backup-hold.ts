/**
 * What lets another process copy the data directory while the service runs: a hold. The file of the database stays as it is, runs
 * make no further step, so that their files are copied as they were at that moment, and nothing is removed. Requests are answered
 * all the while. A hold is over when it is not prolonged, so nothing is left of a copy that was killed.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { errorFields, type Log } from '../../log.ts';
import type { DatabaseCopies } from '../../store/storage.ts';
import { Gate } from './gate.ts';

/** Milliseconds after which a hold is over unless it is prolonged. */
const lease = 30_000;
/** Milliseconds that runs are kept from going on, at the most: their people wait. */
const runsWait = 15_000;

/** `everything`, or `files` alone once the database and the files of runs that go on have been copied. */
export type Held = 'everything' | 'files';

export interface Hold {
  readonly id: string;
  /** The moment that the file of the database shows, in milliseconds. */
  readonly createdAt: number;
  expiresAt: number;
  holds: Held;
  /** Whether no run went on as long as everything was held. */
  runsWaited: boolean;
}

export class BackupHolds {
  /** Who writes what a run has done passes here. */
  readonly runs = new Gate();
  /** Who removes rows and the files that belong to them passes here. */
  readonly removals = new Gate();
  readonly #parts: { copies: DatabaseCopies; clock: Clock; log: Log };
  readonly #ended = new AbortController();
  #taking = false;
  #hold: Hold | undefined;
  #over = new AbortController();
  #letGo: Promise<void> = Promise.resolve();

  constructor(parts: { copies: DatabaseCopies; clock: Clock; log: Log }) {
    this.#parts = parts;
  }

  /** Throws 409 `backup_running`. */
  async take(): Promise<Hold> {
    if (this.#hold !== undefined || this.#taking)
      throw new ServiceError(409, 'backup_running', 'The data directory is being backed up already; wait until that is done.');
    this.#taking = true;
    try {
      // Removing may take a while, and runs need not wait for that.
      await this.removals.close();
      await this.runs.close();
      await this.#parts.copies.hold();
    } catch (error) {
      this.#open();
      throw error;
    } finally {
      this.#taking = false;
    }
    const now = this.#parts.clock.now();
    const hold: Hold = { id: randomUUID(), createdAt: now, expiresAt: now + lease, holds: 'everything', runsWaited: true };
    this.#hold = hold;
    this.#over = new AbortController();
    void this.#watch(hold);
    this.#parts.log('info', 'backup started', { hold: hold.id });
    return hold;
  }

  /** Goes on with what is still held: what was let go is not taken again. Throws 404 `backup_hold_not_found`. */
  async prolong(id: string, holds: Held): Promise<Hold> {
    const hold = this.#require(id);
    hold.expiresAt = this.#parts.clock.now() + lease;
    if (holds === 'files' && hold.holds === 'everything') await this.#keepFilesAlone(hold);
    return hold;
  }

  /** Throws 404 `backup_hold_not_found`. */
  async release(id: string): Promise<void> {
    await this.#end(this.#require(id));
    this.#parts.log('info', 'backup ended', { hold: id });
  }

  /** No hold ends by itself any more: the service does. */
  close(): void {
    this.#ended.abort();
  }

  #require(id: string): Hold {
    if (this.#hold?.id !== id) throw notFound('backup_hold', id);
    return this.#hold;
  }

  async #keepFilesAlone(hold: Hold): Promise<void> {
    hold.holds = 'files';
    this.runs.open();
    this.#letGo = this.#parts.copies.letGo();
    await this.#letGo;
  }

  async #end(hold: Hold): Promise<void> {
    // Before anything is waited for: who asks for the next one must not be in the way of this.
    this.#over.abort();
    try {
      if (hold.holds === 'everything') await this.#keepFilesAlone(hold);
      // Somebody may be about to do so at this moment.
      else await this.#letGo;
    } finally {
      if (this.#hold === hold) this.#hold = undefined;
      this.#open();
    }
  }

  #open(): void {
    this.runs.open();
    this.removals.open();
  }

  /** Ends a hold that nobody prolongs, and lets runs go on when they have waited long enough. */
  async #watch(hold: Hold): Promise<void> {
    const { clock, log } = this.#parts;
    const over = AbortSignal.any([this.#over.signal, this.#ended.signal]);
    try {
      for (;;) {
        const waiting = hold.holds === 'everything' && hold.runsWaited;
        const next = waiting ? Math.min(hold.expiresAt, hold.createdAt + runsWait) : hold.expiresAt;
        await clock.sleep(Math.max(0, next - clock.now()), over);
        if (waiting && hold.holds === 'everything' && clock.now() >= hold.createdAt + runsWait) {
          hold.runsWaited = false;
          this.runs.open();
        }
        if (clock.now() < hold.expiresAt) continue;
        log('warn', 'a backup was given up: nobody went on with it', { hold: hold.id });
        return await this.#end(hold);
      }
    } catch (error) {
      if (!over.aborted) log('error', 'a backup could not be ended', errorFields(error));
    }
  }
}

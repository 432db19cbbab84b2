/** How an execution of a run writes: every write is one transaction, which first makes sure that this execution still owns the run. */
import { lockTeam } from '../../store/access/teams.ts';
import type { Queries } from '../../store/database/database.ts';
import type { JobStatus, RunRow, RunsTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { type Claim, releaseHeldJob } from '../../store/jobs/jobs.ts';
import { type ExecutedRun, type HeldRun, heldRun } from '../../store/runs/held-runs.ts';
import { changeReadRun } from '../../store/runs/runs.ts';
import type { HasBackups, HasClock, HasStore, HasWorker } from '../engine.ts';
import type { RunWorkspace } from '../run-workspaces.ts';
import type { NewEvent } from '../webhooks/events.ts';
import { recordRunEvents } from '../webhooks/run-events.ts';

/** The run was stopped, or another worker has taken it over: nothing may be written any more. */
export class RunLostError extends Error {
  constructor() {
    super('The run is no longer executed here.');
    this.name = 'RunLostError';
  }
}

/** Statuses in which a driver may write. */
const writableStatuses = ['pending', 'starting', 'running'] as const;

export type RunChanges = Partial<
  Pick<RunsTable, 'exec_level' | 'status' | 'error' | 'completed_at' | 'turn' | 'resume_count' | 'unread_message' | 'updated_at'>
>;

/** What a transaction writes. @param now ISO 8601 */
export type Change = (trx: Queries, now: string) => Promise<void>;

/** How a transaction begins. */
export interface WriteOptions {
  /** Whether the transaction changes the row of the team, such as its number of human requests. It has to be locked before the run. */
  locksTeam?: boolean;
}

export interface RecordParts {
  engine: HasStore & HasClock & HasWorker & HasBackups;
  claim: Claim;
  run: ExecutedRun;
  workspace: RunWorkspace;
  signal: AbortSignal;
}

export class RunRecord {
  readonly #parts: RecordParts;
  /** The run as the transaction in progress, or the last one, has found it. */
  #held: HeldRun;
  /** Whether the worker has to be woken after the commit, because there are webhooks to deliver or cases to dispatch. */
  #shouldWake = false;

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#held = { ...parts.run, last_message: null };
  }

  /** The run as the transaction in progress, or the last one, has found it. */
  get held(): HeldRun {
    return this.#held;
  }

  /** Whether somebody may receive events of the run, as far as the transaction in progress knows. */
  get hasRecipients(): boolean {
    const { has_webhooks: teamHasWebhooks = true, webhook_url: url } = this.#held;
    return Boolean(teamHasWebhooks) || url !== null;
  }

  /** Writes, together with the files that have changed, within a transaction that is part of a step. */
  async writeStep(change: Change, options?: WriteOptions): Promise<void> {
    this.#confirmNotAborted();
    await this.#parts.workspace.commit((recordFiles) =>
      this.write(async (trx, now) => {
        await change(trx, now);
        await recordFiles(trx, this.#held);
      }, options),
    );
  }

  /** Writes within a transaction that fails with RunLostError if this execution no longer owns the run. */
  async write(change: Change, options: WriteOptions = {}): Promise<void> {
    this.#confirmNotAborted();
    const { engine, run, signal } = this.#parts;
    await engine.backups.runs.run(signal, () => this.#writeNow(change, options));
    // Whatever the run of a case does might free capacity for the next case.
    if (this.#shouldWake || run.case_id !== null) engine.worker.wake();
    this.#shouldWake = false;
  }

  /** Wakes the worker after the commit of the transaction in progress. */
  wakeAfterCommit(): void {
    this.#shouldWake = true;
  }

  /** Changes the run in the transaction in progress. */
  async change(trx: Queries, changes: RunChanges): Promise<RunRow> {
    const run = await changeReadRun(trx, this.#held, changes);
    if (run === undefined) throw new RunLostError();
    this.#held = run;
    return run;
  }

  /** Records events for webhooks, in the transaction of the change that they report. */
  async report(trx: Queries, run: RunRow, events: NewEvent[]): Promise<void> {
    if (events.length > 0 && (await recordRunEvents(this.#parts.engine.clock, trx, run, events))) this.#shouldWake = true;
  }

  /** Releases the job of this execution, in the transaction in progress. */
  async release(trx: Queries, to: { status: JobStatus; dueAt?: number }): Promise<void> {
    await releaseHeldJob(trx, this.#parts.claim, to);
  }

  async #writeNow(change: Change, { locksTeam = false }: WriteOptions): Promise<void> {
    const { engine, run: row, claim } = this.#parts;
    await engine.store.transaction().execute(async (trx) => {
      if (locksTeam) await lockTeam(trx, row.team_id);
      const run = await heldRun(trx, row.id, claim);
      if (run === undefined || !(writableStatuses as readonly string[]).includes(run.status)) throw new RunLostError();
      this.#held = run;
      await change(trx, isoTime(engine.clock.now()));
    });
  }

  #confirmNotAborted(): void {
    if (this.#parts.signal.aborted) throw new RunLostError();
  }
}

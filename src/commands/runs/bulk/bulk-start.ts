/**
 * Starts many runs, each exactly once. Every row is recorded in the ledger before it is sent, and has its own idempotency key, so that
 * the same command continues after an interruption and settles what got no response.
 */
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { inCompletionOrder } from '../../../cli/bulk/completion-order.ts';
import { type GracefulClient, gracefulClient } from '../../../cli/bulk/graceful-client.ts';
import type { FailedRow } from '../../../cli/bulk/rows.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { PlannedRequest, PlannedWork } from '../../../client/dry-run.ts';
import { OutcomeUnknownError, ServiceAnswerError } from '../../../client/errors.ts';
import { credentialName } from '../../../config/credential.ts';
import type { Body } from '../../../interface/types.ts';
import { startSpinner } from '../../../terminal/progress.ts';
import { type RowResult, type RunLedger, rowKey } from './run-ledger.ts';

/** A run to start. */
export interface PlannedStart {
  row: number;
  body: Body<'startRun'>;
  /** The files that `prepare` uploads, as part of the row's content. */
  files?: readonly string[];
  /** Creates the sandbox of the run and uploads its files. */
  prepare?: (context: Context) => Promise<string>;
}

/** A run that was started for a row. */
export interface StartedRow {
  id: string;
  run_number: number | null;
  agent_id: string | null;
  row: number;
}

type Outcome =
  | { kind: 'started'; run: StartedRow }
  | { kind: 'failed'; row: number; reason: string }
  /** Its outcome cannot be found out any more. */
  | { kind: 'unknown'; error: AopsError }
  /** No further row would fare better. */
  | { kind: 'ended'; error: unknown };

/** The requests that a dry run shows. */
const shownRequests = 3;

export class BulkStart {
  readonly #context: Context;
  readonly #ledger: RunLedger;
  readonly #concurrency: number;
  /** The number of rows, with those that earlier commands have started. */
  readonly #total: number;
  readonly startedBefore: StartedRow[] = [];
  readonly failedRows: FailedRow[] = [];
  readonly #unknown: AopsError[] = [];
  readonly #pending: PlannedStart[] = [];
  #startedCount = 0;
  #ending: { error: unknown } | undefined;

  constructor(context: Context, ledger: RunLedger, starts: readonly PlannedStart[], concurrency: number) {
    this.#context = context;
    this.#ledger = ledger;
    this.#concurrency = concurrency;
    this.#total = starts.length;
    for (const start of starts) {
      const result = ledger.resultOf(start.row);
      if (result === undefined) this.#pending.push(start);
      else if ('failed' in result) this.failedRows.push({ row: start.row, reason: result.failed });
      else this.startedBefore.push(startedRow(start.row, result));
    }
  }

  get startedCount(): number {
    return this.#startedCount;
  }

  /** Whether every row has an outcome. */
  get isComplete(): boolean {
    return this.#ending === undefined && this.#unknown.length === 0 && !this.#context.signal.aborted;
  }

  /** What a dry run shows: how many runs would be started, and the first requests. */
  async plan(): Promise<{ to_start: number; started_before: number; first_requests: (PlannedRequest | PlannedWork)[] }> {
    const [client, { DryRunStop }] = await Promise.all([this.#context.client(), import('../../../client/index.ts')]);
    const requests: (PlannedRequest | PlannedWork)[] = [];
    for (const { body, files } of this.#pending.slice(0, shownRequests)) {
      const sandbox = files === undefined ? {} : { sandbox_id: `(a new sandbox with ${files.join(', ')})` };
      const input = { params: { teamId: this.#ledger.head.team_id }, body: { ...body, ...sandbox } };
      await client.call('startRun', input).catch((error: unknown) => {
        if (!(error instanceof DryRunStop)) throw error;
        requests.push(error.request);
      });
    }
    return { to_start: this.#pending.length, started_before: this.startedBefore.length, first_requests: requests };
  }

  /**
   * Yields the runs that earlier commands started, then each run as it is started.
   * @throws AopsError when it ended early, or the outcome of a row remains unknown; the signal's reason after Ctrl-C
   */
  async *run(): AsyncGenerator<readonly StartedRow[], void, undefined> {
    if (this.startedBefore.length > 0) yield this.startedBefore;
    if (this.#pending.length > 0) {
      const { terminal } = this.#context;
      const graceful = await gracefulClient(this.#context, () =>
        terminal.note('Stopping after the requests in progress. Press Ctrl-C again to stop immediately; nothing is lost.'),
      );
      try {
        yield* this.#startPending(graceful);
      } finally {
        await graceful.close();
      }
    }
    this.#checkEnd();
  }

  async *#startPending(graceful: GracefulClient): AsyncGenerator<readonly StartedRow[], void, undefined> {
    const { terminal, clock, signal } = this.#context;
    const progress = (): string => {
      const failed = this.failedRows.length === 0 ? '' : `, ${this.failedRows.length} failed`;
      return `Starting runs: ${this.startedBefore.length + this.#startedCount} of ${this.#total}${failed}`;
    };
    const spinner = startSpinner(terminal, progress(), clock);
    try {
      const isStopped = (): boolean => signal.aborted || this.#ending !== undefined;
      const outcomes = inCompletionOrder(this.#pending, this.#concurrency, isStopped, (start) => this.#start(graceful, start));
      for await (const outcome of outcomes) {
        const run = this.#count(outcome);
        spinner.update(progress());
        if (run) yield [run];
      }
    } finally {
      spinner.stop();
    }
  }

  #count(outcome: Outcome): StartedRow | undefined {
    switch (outcome.kind) {
      case 'started':
        this.#startedCount += 1;
        return outcome.run;
      case 'failed':
        this.failedRows.push({ row: outcome.row, reason: outcome.reason });
        return undefined;
      case 'unknown':
        this.#unknown.push(outcome.error);
        return undefined;
      case 'ended':
        this.#ending ??= { error: outcome.error };
        return undefined;
    }
  }

  async #start(graceful: GracefulClient, start: PlannedStart): Promise<Outcome> {
    const { row } = start;
    const earlierStart = this.#ledger.startOf(row);
    try {
      return await this.#send(graceful, start, earlierStart);
    } catch (error) {
      return this.#failure(row, error, earlierStart !== undefined).catch((ledgerError: unknown) => ({ kind: 'ended', error: ledgerError }));
    }
  }

  async #send(
    { context, client }: GracefulClient,
    start: PlannedStart,
    earlierStart: Record<string, unknown> | undefined,
  ): Promise<Outcome> {
    const { row, body, files = [], prepare } = start;
    const key = rowKey(this.#ledger, row, { ...body, files });
    if (earlierStart !== undefined && earlierStart.key !== key)
      return { kind: 'unknown', error: this.#ledger.unknownOutcome(row, 'with other content') };
    const sandboxId = earlierStart === undefined ? await prepare?.(context) : (earlierStart.sandbox_id as string | undefined);
    const sandbox = sandboxId === undefined ? {} : { sandbox_id: sandboxId };
    const credential = credentialName(context.config().credential);
    try {
      await this.#ledger.begin(row, context.clock.now(), credential, { key, ...sandbox });
    } catch (error) {
      if (error instanceof AopsError && error.exit === exitCodes.outcomeUnknown) return { kind: 'unknown', error };
      throw error;
    }
    const params = { teamId: this.#ledger.head.team_id };
    const { run } = await client.call('startRun', { params, body: { ...body, ...sandbox } }, { keys: { key, commandKey: key } });
    const result = { run_id: run.id, run_number: run.run_number ?? null, agent_id: run.agent_id };
    await this.#ledger.finish(row, result);
    return { kind: 'started', run: startedRow(row, result) };
  }

  /** @param wasSentBefore whether an earlier command sent the row and got no response */
  async #failure(row: number, error: unknown, wasSentBefore: boolean): Promise<Outcome> {
    if (isRejection(error) || (error instanceof UsageError && this.#ledger.startOf(row) === undefined)) {
      const reason = (error as Error).message;
      await this.#ledger.finish(row, { failed: reason });
      return { kind: 'failed', row, reason };
    }
    if (!wasSentBefore && wasRefused(error) && this.#ledger.startOf(row) !== undefined)
      await this.#ledger.refuse(row, (error as AopsError).code);
    return { kind: 'ended', error };
  }

  #checkEnd(): void {
    const { signal, terminal } = this.#context;
    if (this.isComplete) return;
    const startedCount = this.startedBefore.length + this.#startedCount;
    if (signal.aborted || this.#ending !== undefined)
      terminal.note(`Started ${startedCount} of ${pluralize(this.#total, 'run')}. Run the same command again to continue.`);
    if (signal.aborted) throw signal.reason;
    if (this.#ending !== undefined) throw withRepeatHint(this.#ending.error);
    const [first, ...rest] = this.#unknown as [AopsError, ...AopsError[]];
    const { code, exit, hint, details } = first;
    throw new AopsError(
      rest.length === 0 ? first.message : `${first.message} The same applies to ${pluralize(rest.length, 'other row')}.`,
      {
        code,
        exit,
        hint,
        details,
      },
    );
  }
}

const startedRow = (row: number, { run_id, run_number, agent_id }: Exclude<RowResult, { failed: string }>): StartedRow => ({
  id: run_id,
  run_number,
  agent_id,
  row,
});

/** Whether the service rejected the row itself, rather than the caller or the time. */
const isRejection = (error: unknown): boolean => error instanceof ServiceAnswerError && [400, 404, 409, 413, 422].includes(error.status);

/** Whether nothing was carried out, although the row is in order. */
function wasRefused(error: unknown): boolean {
  const exits: number[] = [exitCodes.auth, exitCodes.forbidden, exitCodes.rateLimited, exitCodes.unavailable];
  return error instanceof AopsError && exits.includes(error.exit);
}

/** A row whose outcome is unknown is not settled with `aops retry`: the same command sends it again itself, with the same key. */
function withRepeatHint(error: unknown): unknown {
  if (!(error instanceof OutcomeUnknownError)) return error;
  const { message, code, exit, details } = error;
  const hint = 'Run the same command again: it sends this row again with the same key, so that no run is started twice, and continues.';
  return new AopsError(message, { code, exit, hint, details, cause: error });
}

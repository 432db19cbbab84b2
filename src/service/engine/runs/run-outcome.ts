/** Records how an execution of a run has ended, in a transaction of its record, and releases the job. */
import type { Outcome } from '../../runtimes/run-host.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow } from '../../store/database/schema.ts';
import type { ExecutedRun } from '../../store/runs/held-runs.ts';
import { type CaseEnd, caseRunAsked, caseRunEnded } from '../cases/run-end.ts';
import type { HasClock } from '../engine.ts';
import { recordPushes } from '../push/record.ts';
import { planReminder } from '../requests/reminders.ts';
import { storeRequest } from '../requests/store-request.ts';
import { askedEvent, runEvent } from '../webhooks/run-events.ts';
import { planEvaluation } from './evaluations.ts';
import type { RunChanges, RunRecord } from './run-record.ts';

export interface OutcomeParts {
  engine: HasClock;
  record: RunRecord;
  /** The run at the start of the execution. */
  run: ExecutedRun;
}

/** @param now ISO 8601 */
export async function recordOutcome(trx: Queries, parts: OutcomeParts, outcome: Outcome, now: string): Promise<void> {
  const { record, run } = parts;
  switch (outcome.status) {
    case 'completed':
      // Counts as sent after this turn.
      if (record.held.unread_message !== null) return beginNextTurn(trx, parts, now);
      return end(trx, parts, 'run.completed', { status: 'completed', completed_at: now, updated_at: now }, { outcome: 'completed' });
    case 'failed': {
      const { error } = outcome;
      const changes = { status: 'failed' as const, error, completed_at: now, updated_at: now };
      return end(trx, parts, 'run.failed', changes, { outcome: 'failed', reason: error });
    }
    case 'waiting':
      await pause(trx, parts, await storeRequest(trx, run, outcome, now), now);
      return record.release(trx, { status: 'parked' });
    case 'sleeping':
      return record.release(trx, { status: 'queued', dueAt: outcome.until });
  }
}

async function end(
  trx: Queries,
  { engine, record, run }: OutcomeParts,
  kind: 'run.completed' | 'run.failed',
  changes: RunChanges,
  caseEnd: CaseEnd,
): Promise<void> {
  const endedRun = await record.change(trx, changes);
  await record.report(trx, endedRun, [runEvent(trx, kind, endedRun)]);
  await caseRunEnded(engine, trx, run, caseEnd);
  await planEvaluation(engine, trx, endedRun);
  await record.release(trx, { status: 'done' });
}

async function pause(trx: Queries, { engine, record }: OutcomeParts, request: HumanRequestRow, now: string): Promise<void> {
  const run = await record.change(trx, { status: 'waiting', updated_at: now });
  await planReminder(trx, run.team_id, request, engine.clock.now());
  await record.report(trx, run, [runEvent(trx, 'run.paused', run), askedEvent(run, request)]);
  // The end of this execution wakes the worker.
  await recordPushes(engine.clock, trx, run.team_id, request.id);
  await caseRunAsked(engine, trx, run, request);
}

async function beginNextTurn(trx: Queries, { engine, record, run }: OutcomeParts, now: string): Promise<void> {
  const counters = { turn: run.turn + 1, resume_count: run.resume_count + 1 };
  await record.change(trx, { status: 'pending', ...counters, unread_message: null, updated_at: now });
  await record.release(trx, { status: 'queued', dueAt: engine.clock.now() });
}

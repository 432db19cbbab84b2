/**
 * Reminders of human requests that wait too long. A reminder only reports that a request is still pending; it never decides anything.
 * The time of the next one is stored with the request, and the earliest of a team as a job. When it is due, the job records the
 * reminder, its events, and the next time in one transaction, so that none is repeated or lost. Reminders that became due while the
 * service was down are recorded once.
 */

import { findTeam, lockTeam, updateTeamRow } from '../../store/access/teams.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { JobRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { holdsJob, nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { dueReminders, nextReminder, pendingOfTeam, planReminderAt, recordReminder } from '../../store/runs/reminders.ts';
import { runById } from '../../store/runs/runs.ts';
import type { HasClock, HasLog, HasStore, HasWorker } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { recordPushes } from '../push/record.ts';
import { recordRunEvents, reminderEvent } from '../webhooks/run-events.ts';

/** Maximum pause between two reminders, unless the first one comes later, in milliseconds. */
const maxPause = 24 * 60 * 60 * 1_000;

/** How many reminders one transaction records. */
const maxReminders = 50;

/**
 * The pause before the next reminder, in milliseconds: it doubles with each one, up to a day.
 * @param remindAfter the pause before the first one
 * @param count the reminders so far
 */
export const reminderPause = (remindAfter: number, count: number): number =>
  Math.max(remindAfter, Math.min(remindAfter * 2 ** count, maxPause));

/** Plans the first reminder of a new request, within a transaction. */
export async function planReminder(trx: Queries, teamId: string, request: { id: string }, now: number): Promise<void> {
  const remindAfter = await remindAfterOf(trx, teamId);
  if (remindAfter === null) return;
  await planReminderAt(trx, request.id, now + remindAfter);
  await nudgeJob(trx, { kind: jobKinds.remind, subjectId: teamId, dueAt: now + remindAfter });
}

/** Changes when a team is reminded of requests, including those that are pending, within a transaction. */
export async function setRemindAfter(trx: Queries, teamId: string, remindAfter: number | null, now: number): Promise<void> {
  await updateTeamRow(trx, teamId, { remind_after: remindAfter });
  for (const request of await pendingOfTeam(trx, teamId)) {
    const since = Date.parse(request.reminded_at ?? request.created_at);
    const dueAt = remindAfter === null ? null : Math.max(now, since + reminderPause(remindAfter, request.reminders));
    await planReminderAt(trx, request.id, dueAt);
  }
  const first = await nextReminder(trx, teamId);
  if (first !== undefined) await nudgeJob(trx, { kind: jobKinds.remind, subjectId: teamId, dueAt: first });
}

/** Records the reminders of a team that are due. */
export const remindJob = defineJob({ kind: jobKinds.remind, concurrency: 1, run: remind });

async function remind(engine: HasStore & HasClock & HasLog & HasWorker, job: JobRow): Promise<void> {
  const teamId = job.subject_id;
  const count = await engine.store.transaction().execute(async (trx) => {
    const now = engine.clock.now();
    await lockTeam(trx, teamId);
    // A request that is answered at this moment is not reminded of: whoever answers it locks its run.
    const candidates = await dueReminders(trx, teamId, now, maxReminders);
    await lockRows(
      trx,
      'runs',
      candidates.map(({ run_id }) => run_id),
    );
    const remindAfter = await remindAfterOf(trx, teamId);
    if (!(await holdsJob(trx, job))) return 0;
    const ids = new Set(candidates.map(({ id }) => id));
    const due = remindAfter === null ? [] : await dueReminders(trx, teamId, now, maxReminders);
    const requests = due.filter(({ id }) => ids.has(id));
    for (const request of requests) {
      const nextAt = now + reminderPause(remindAfter as number, request.reminders + 1);
      const reminded = await recordReminder(trx, request, { at: isoTime(now), nextAt });
      const run = (await runById(trx, request.run_id)) as RunRow;
      await recordRunEvents(engine.clock, trx, run, [reminderEvent(run, reminded)]);
      await recordPushes(engine.clock, trx, teamId, request.id);
    }
    const next = remindAfter === null ? undefined : await nextReminder(trx, teamId);
    await releaseJob(trx, job, next === undefined ? { status: 'done' } : { status: 'queued', dueAt: next });
    return requests.length;
  });
  if (count > 0) engine.log('info', 'reminded of human requests', { team: teamId, requests: count });
  engine.worker.wake();
}

const remindAfterOf = async (trx: Queries, teamId: string): Promise<number | null> => {
  const team = await findTeam(trx, teamId);
  return team?.remind_after == null ? null : Number(team.remind_after);
};

/**
 * Schedules start runs at certain times. The next instant of each schedule is stored with it and as a job. When it is due, the job
 * takes the instant, starts the run, and sets the next instant in one transaction, so that none fires twice. Instants that
 * passed while the service was down fire once, together.
 */

import type { Updateable } from 'kysely';
import { nextTime, type ScheduleTimes, timesProblems, withDefaultTimes } from '../../../base/schedule-times.ts';
import type { Body } from '../../../interface/types.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { lockTeam } from '../../store/access/teams.ts';
import { latestBuilds } from '../../store/agents/builds.ts';
import {
  deleteSchedules,
  findSchedule,
  insertSchedule,
  type ListedSchedule,
  scheduleById,
  teamOfSchedule,
  updateScheduleRow,
} from '../../store/agents/schedules.ts';
import type { Queries } from '../../store/database/database.ts';
import { isShared } from '../../store/database/row-locks.ts';
import type { AgentRow, Flag, JobRow, ScheduleRow, SchedulesTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, holdsJob, releaseJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { requireConnections } from '../connections/named-connections.ts';
import type { HasClock, HasLog, HasRuntimes, HasStore, HasWorker } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { createRun } from '../runs/lifecycle.ts';

/** After this many failures in a row, a schedule is disabled. */
export const maxFailures = 5;

/** Temporary failures, which do not disable a schedule. */
const temporary = new Set(['plan_limit_reached']);

/** Creates a schedule of an agent, within a transaction. Throws 400 `invalid_schedule`, 400 `agent_has_no_revision`. */
export async function createSchedule(
  engine: HasClock,
  trx: Queries,
  agent: AgentRow,
  body: Body<'createSchedule'>,
  credentialId: string,
): Promise<ListedSchedule> {
  const times = checkedTimes({ ...noTimes, ...body, timezone: body.timezone });
  const buildId = agent.live_build_id ?? (await latestBuilds(trx, [agent.id])).get(agent.id)?.id;
  if (buildId === undefined) {
    throw new ServiceError(400, 'agent_has_no_revision', `The agent ${agent.name} has no revision to run; create one first.`);
  }
  const now = engine.clock.now();
  const id = newId();
  await insertSchedule(trx, {
    id,
    agent_id: agent.id,
    build_id: buildId,
    credential_id: credentialId,
    enabled: body.enabled ? 1 : 0,
    ...times,
    source: 'api',
    task: textOrNull(body.task),
    recurring: flag(body.recurring),
    next_at: null,
    last_run_at: null,
    last_run_id: null,
    last_error: null,
    failures: 0,
    auto_disabled_at: null,
    auto_disabled_reason: null,
    created_at: isoTime(now),
    updated_at: isoTime(now),
  });
  if (body.enabled) await plan(trx, id, times, now);
  return (await findSchedule(trx, agent.id, id)) as ListedSchedule;
}

/**
 * Changes a schedule within a transaction. If the frequency changes, its fields come from the change alone. Enabling clears the
 * failures. Throws 404 `schedule_not_found`, 400 `invalid_schedule`.
 */
export async function updateSchedule(
  engine: HasClock,
  trx: Queries,
  ids: { agentId: string; scheduleId: string },
  body: Body<'updateSchedule'>,
): Promise<ListedSchedule> {
  const schedule = await findSchedule(trx, ids.agentId, ids.scheduleId);
  if (schedule === undefined) throw notFound('schedule', ids.scheduleId);
  const keepsFrequency = body.frequency === undefined || body.frequency === schedule.frequency;
  const { frequency, timezone } = schedule;
  const times = checkedTimes({ ...(keepsFrequency ? timesOf(schedule) : { ...noTimes, frequency, timezone }), ...withoutUndefined(body) });
  const enabled = body.enabled ?? schedule.enabled === 1;
  const now = engine.clock.now();
  await updateScheduleRow(trx, schedule.id, {
    ...times,
    enabled: enabled ? 1 : 0,
    task: body.task === undefined ? schedule.task : textOrNull(body.task),
    recurring: body.recurring === undefined ? schedule.recurring : flag(body.recurring),
    ...(body.enabled === true ? { ...cleanRecord, auto_disabled_at: null, auto_disabled_reason: null } : {}),
    updated_at: isoTime(now),
  });
  const sameTimes = JSON.stringify(times) === JSON.stringify(timesOf(schedule));
  if (!enabled) {
    await updateScheduleRow(trx, schedule.id, { next_at: null });
    await revokeJob(trx, jobKinds.schedule, schedule.id);
  } else if (!sameTimes || schedule.next_at === null) await plan(trx, schedule.id, times, now);
  return (await findSchedule(trx, ids.agentId, schedule.id)) as ListedSchedule;
}

/** Removes all schedules of an agent, or one of them, within a transaction. Throws 404 `schedule_not_found` for an unknown one. */
export async function removeSchedules(trx: Queries, agentId: string, id?: string): Promise<void> {
  const ids = await deleteSchedules(trx, agentId, id);
  if (id !== undefined && ids.length === 0) throw notFound('schedule', id);
  for (const scheduleId of ids) await revokeJob(trx, jobKinds.schedule, scheduleId);
}

/** Starts the run of a schedule that is due. */
export const scheduleJob = defineJob({ kind: jobKinds.schedule, concurrency: 2, run: fireSchedule });

async function fireSchedule(engine: HasStore & HasClock & HasLog & HasRuntimes & HasWorker, job: JobRow): Promise<void> {
  const log = await engine.store.transaction().execute(async (trx): Promise<(() => void) | undefined> => {
    const team = isShared(trx) ? await teamOfSchedule(trx, job.subject_id) : undefined;
    if (team !== undefined) await lockTeam(trx, team);
    const schedule = await scheduleById(trx, job.subject_id);
    if (!(await holdsJob(trx, job))) return undefined;
    const now = engine.clock.now();
    const instant = schedule?.enabled === 1 && schedule.next_at !== null ? Number(schedule.next_at) : undefined;
    if (schedule === undefined || instant === undefined) {
      await releaseJob(trx, job, { status: 'done' });
      return undefined;
    }
    // The clock has been set back since then.
    if (instant > now) {
      await releaseJob(trx, job, { status: 'queued', dueAt: instant });
      return undefined;
    }
    const isLast = schedule.recurring === 0 || nextTime(timesOf(schedule), now) === undefined;
    const { continues, startedAt, log } = await start(engine, trx, schedule, isLast);
    // Every instant until the run was started is that run's, also one that passed during this transaction.
    const next = continues ? (nextTime(timesOf(schedule), startedAt) ?? null) : null;
    await updateScheduleRow(trx, schedule.id, { next_at: next });
    await releaseJob(trx, job, next === null ? { status: 'done' } : { status: 'queued', dueAt: next });
    return log;
  });
  log?.();
  engine.worker.wake();
}

interface Start {
  /** Whether the schedule continues. */
  continues: boolean;
  /** When the run was started, or could not be, in milliseconds. */
  startedAt: number;
  /** Reports what was done. Call it after the commit. */
  log: () => void;
}

/** Starts the run of an instant, or records why that failed. */
async function start(engine: HasClock & HasLog & HasRuntimes, trx: Queries, schedule: ScheduleRow, last: boolean): Promise<Start> {
  const time = engine.clock.now();
  const now = isoTime(time);
  const agent = await trx
    .selectFrom('agents')
    .leftJoin('builds', 'builds.id', 'agents.live_build_id')
    .select(['agents.team_id', 'builds.config'])
    .where('agents.id', '=', schedule.agent_id)
    .executeTakeFirstOrThrow();
  try {
    const { task } = schedule;
    if (agent.config !== null) await requireConnections(engine, trx, agent.team_id, agent.config);
    const run = await createRun(engine, trx, {
      teamId: agent.team_id,
      agentId: schedule.agent_id,
      source: 'schedule',
      ...(task === null ? {} : { message: task }),
    });
    await updateScheduleRow(trx, schedule.id, {
      ...cleanRecord,
      last_run_at: now,
      last_run_id: run.id,
      ...(last ? { enabled: 0 as const } : {}),
    });
    const log = (): void => engine.log('info', 'a schedule started a run', { schedule: schedule.id, run: run.id });
    return { continues: !last, startedAt: Date.parse(run.created_at), log };
  } catch (error) {
    // Each of these errors is thrown before anything of the run is written.
    if (!(error instanceof ServiceError)) throw error;
    const failures = temporary.has(error.error) ? schedule.failures : schedule.failures + 1;
    const isDisabled = last || failures >= maxFailures;
    const reason = last ? error.message : `No run could be started ${failures} times in a row: ${error.message}`;
    await updateScheduleRow(trx, schedule.id, {
      last_error: error.message,
      failures,
      ...missingConnection(schedule, error, now),
      ...(isDisabled ? { enabled: 0 as const, auto_disabled_at: now, auto_disabled_reason: reason } : {}),
    });
    const fields = { schedule: schedule.id, error: error.error, disabled: isDisabled };
    return { continues: !isDisabled, startedAt: time, log: () => engine.log('warn', 'a schedule could not start a run', fields) };
  }
}

const cleanRecord = {
  last_error: null,
  failures: 0,
  missing_connection_failures: 0,
  first_missing_connection_at: null,
  last_missing_connection_at: null,
};

/** Records successive failures because of a missing connection. Any other failure resets the record. */
function missingConnection(schedule: ScheduleRow, { error }: ServiceError, now: string): Updateable<SchedulesTable> {
  if (temporary.has(error)) return {};
  if (error !== 'connection_missing')
    return { missing_connection_failures: 0, first_missing_connection_at: null, last_missing_connection_at: null };
  return {
    missing_connection_failures: schedule.missing_connection_failures + 1,
    first_missing_connection_at: schedule.first_missing_connection_at ?? now,
    last_missing_connection_at: now,
  };
}

/** Sets the next instant after a moment, and makes the job due at that time. */
async function plan(trx: Queries, id: string, times: ScheduleTimes, now: number): Promise<void> {
  const next = nextTime(times, now);
  await updateScheduleRow(trx, id, { next_at: next ?? null });
  if (next !== undefined) await enqueueJob(trx, { kind: jobKinds.schedule, subjectId: id, dueAt: next });
}

const noTimes = { time: null, day: null, day_of_month: null, cron: null };

const timesOf = ({ frequency, time, timezone, day, day_of_month, cron }: ScheduleTimes): ScheduleTimes => ({
  frequency,
  time,
  timezone,
  day,
  day_of_month,
  cron,
});

function checkedTimes(fields: ScheduleTimes): ScheduleTimes {
  const times = timesOf(fields);
  const problems = timesProblems(times);
  if (problems.length === 0) return withDefaultTimes(times);
  throw new ServiceError(400, 'invalid_schedule', `${problems.map(({ field, message }) => `${field} ${message}`).join('; ')}.`, {
    details: problems.map(({ field, message }) => ({ path: field, message })),
  });
}

const withoutUndefined = <T extends object>(values: T): T =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
const textOrNull = (text: string | null | undefined): string | null =>
  text === undefined || text === null || text.trim() === '' ? null : text;
const flag = (value: boolean | null | undefined): Flag | null => (value === undefined || value === null ? null : value ? 1 : 0);

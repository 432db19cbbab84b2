/** Schedules as people see them, and how they are found. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { timesInWords } from '../../../base/schedule-fields.ts';
import type { Schedule } from '../../../interface/types.ts';
import type { Context } from '../../context.ts';
import { column, idColumn, status, statusColumn, time, timeColumn } from '../../output.ts';

/** Why it does not fire, or that it does. */
const stateOf = ({ enabled, auto_disabled_at }: Schedule): string => (enabled ? 'active' : auto_disabled_at === null ? 'off' : 'disabled');

export const scheduleColumns = [
  idColumn((schedule: Schedule) => schedule.id),
  statusColumn(stateOf),
  column('WHEN', timesInWords, { shrink: true, min: 12 }),
  column('TIME ZONE', (schedule: Schedule) => schedule.timezone, { shrink: true }),
  timeColumn('NEXT', (schedule: Schedule) => schedule.next_run_at),
];

export const scheduleRecord = (schedule: Schedule) => ({
  ID: schedule.id,
  Status: status(stateOf(schedule)),
  When: timesInWords(schedule),
  'Time zone': schedule.timezone,
  Recurring: schedule.recurring !== false,
  Task: schedule.task ?? undefined,
  Next: schedule.next_run_at ? time(schedule.next_run_at) : undefined,
  'Last run': schedule.last_run_at ? time(schedule.last_run_at) : undefined,
  'Last run ID': schedule.last_run_id ?? undefined,
  Problem: schedule.last_error ?? undefined,
  'Disabled because': schedule.auto_disabled_reason ?? undefined,
  Revision: schedule.build_id,
  'Created by': schedule.user_name ?? schedule.user_id,
  Created: time(schedule.created_at),
});

/** The next instant of several schedules, where the service tells it; undefined when none fires. */
export const nextOf = (schedules: readonly Schedule[]): string | undefined =>
  schedules
    .flatMap(({ enabled, next_run_at: next }) => (enabled && next ? [next] : []))
    .sort()
    .at(0);

export async function schedulesOf(context: Context, agent: string): Promise<Schedule[]> {
  const client = await context.client();
  return (await client.call('listAgentSchedules', { params: { agent_id: agent } })).schedules;
}

/** A schedule of an agent. @throws AopsError `schedule_not_found` (exit 3) */
export async function findSchedule(context: Context, agent: string, id: string): Promise<Schedule> {
  const found = (await schedulesOf(context, agent)).find((schedule) => schedule.id === id);
  if (found) return found;
  throw new AopsError(`The agent has no schedule ${id}.`, {
    code: 'schedule_not_found',
    exit: exitCodes.notFound,
    hint: 'See its schedules with `aops agents schedules list AGENT`.',
  });
}

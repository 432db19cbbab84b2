/** How schedules are displayed, and how an argument identifies one. */
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { timesInWords } from '../../../base/schedule-fields.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { optionalArgument } from '../../../cli/kit/flags.ts';
import { column, idColumn, status, statusColumn, time, timeColumn, wideView } from '../../../cli/kit/output.ts';
import type { Schedule } from '../../../interface/types.ts';

/** Whether the schedule fires and, if not, why. */
const stateOf = ({ enabled, auto_disabled_at }: Schedule): string => (enabled ? 'active' : auto_disabled_at === null ? 'off' : 'disabled');

export const scheduleColumns = [
  idColumn((schedule: Schedule) => schedule.id),
  statusColumn(stateOf),
  column('WHEN', timesInWords, { shrink: true, min: 12 }),
  timeColumn('NEXT', (schedule: Schedule) => schedule.next_run_at),
  column('TIME ZONE', (schedule: Schedule) => schedule.timezone, { shrink: true, minViewWidth: wideView }),
  timeColumn('LAST RUN', (schedule: Schedule) => schedule.last_run_at, { minViewWidth: 120 }),
  column('TASK', (schedule: Schedule) => schedule.task, { shrink: true, minViewWidth: 120 }),
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

/** The earliest next time of several schedules, if the service reports it; undefined if none fires. */
export const nextOf = (schedules: readonly Schedule[]): string | undefined =>
  schedules
    .flatMap(({ enabled, next_run_at: next }) => (enabled && next ? [next] : []))
    .sort()
    .at(0);

const scheduleSummary = (schedule: Schedule): string => `${schedule.id} (${timesInWords(schedule)})`;

export async function schedulesOf(context: Context, agent: string): Promise<Schedule[]> {
  const client = await context.client();
  return (await client.call('listAgentSchedules', { params: { agent_id: agent } })).schedules;
}

export const scheduleArgument = optionalArgument('The ID of the schedule; optional if the agent has only one', {
  complete: 'schedules',
});

/** A schedule of an agent, or its only one. @throws AopsError `schedule_not_found` (exit 3), UsageError when there are several */
export async function findSchedule(context: Context, agent: string, id: string | undefined): Promise<Schedule> {
  const schedules = await schedulesOf(context, agent);
  const [match, otherMatch] = schedules.filter((schedule) => id === undefined || schedule.id === id);
  if (match && otherMatch)
    throw new UsageError(`The agent has ${schedules.length} schedules.`, `Specify one: ${schedules.map(scheduleSummary).join('; ')}.`);
  if (match) return match;
  throw new AopsError(id === undefined ? 'The agent has no schedules.' : `The agent has no schedule ${id}.`, {
    code: 'schedule_not_found',
    exit: exitCodes.notFound,
    hint:
      schedules.length === 0
        ? 'Create one with `aops agents schedules create AGENT --frequency daily`.'
        : `Its schedules are: ${schedules.map(scheduleSummary).join('; ')}.`,
  });
}

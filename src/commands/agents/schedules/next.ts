import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { type ScheduleTimes, storedTimes, timesInWords } from '../../../base/schedule-fields.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { dateTime, integer, optionalArgument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Schedule } from '../../../interface/types.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import { ownZone, timeOptions, timesFromFlags } from './options.ts';
import { findSchedule, schedulesOf } from './record.ts';

interface Firing {
  at: string;
  local: string;
  when: string;
  timezone: string;
  schedule_id: string | null;
}

export default defineCommand({
  summary: 'Show the next times of schedules',
  description:
    'Calculated on this machine for one schedule of an agent or for all that are enabled. Without an agent, the flags describe the times, so that you can try them before you create a schedule.',
  arguments: {
    agent: optionalArgument('The agent, by ID or name', { complete: 'agents' }),
    schedule: optionalArgument('The ID of the schedule', { complete: 'schedules' }),
  },
  options: {
    ...timeOptions,
    count: integer('N', 'Number of times to show (default: 5)', { minimum: 1, maximum: 1_000 }),
    from: dateTime('Start from this time instead of now'),
  },
  operations: ['listAgents', 'listAgentSchedules'],
  examples: [
    { command: 'aops agents schedules next invoice-check', text: 'Show the next times of all enabled schedules' },
    {
      command: 'aops agents schedules next --frequency monthly --day-of-month 31 --count 12',
      text: 'Try out times before creating a schedule',
    },
  ],
  result: returns({ at: 'date-time', local: 'string', when: 'string', timezone: 'string', schedule_id: 'string|null' }),
  output: listOutput<Firing>({
    columns: [
      column('LOCAL TIME', (firing) => firing.local),
      timeColumn('AT', (firing) => firing.at),
      column('WHEN', (firing) => firing.when, { shrink: true }),
      column('TIME ZONE', (firing) => firing.timezone, { shrink: true }),
    ],
    empty: 'No schedules are enabled.',
  }),
  async run(context, input) {
    const flagTimes = timesFromFlags(input);
    if (input.agent !== undefined && Object.keys(flagTimes).length > 0)
      throw new UsageError('An agent and times cannot be combined.', 'Omit the agent to try out times.');
    const from = input.from === undefined ? context.clock.now() : Date.parse(input.from.iso(context.clock.now()));
    const { nextTimes, timesProblems } = await import('../../../base/schedule-times.ts');
    const count = input.count ?? 5;
    const problemOf = (times: ScheduleTimes): string | undefined =>
      timesProblems(times)
        .map(({ field, message }) => `${field} ${message}`)
        .join('; ') || undefined;
    if (input.agent === undefined) {
      const times = withDefaults(flagTimes);
      const problem = problemOf(times);
      if (problem !== undefined) throw new UsageError(`${problem}.`);
      return firingList(nextTimes(times, from, count).map((instant) => ({ at: instant, times })));
    }
    const schedules = await selectedSchedules(input.agent, input.schedule);
    const firings = schedules.flatMap((schedule): Instant[] => {
      const times = { ...schedule, ...storedTimes(schedule) };
      const problem = problemOf(times);
      if (problem === undefined) return nextTimes(times, from, schedule.recurring === false ? 1 : count).map((at) => ({ at, times }));
      const announcedTime = Date.parse(schedule.next_run_at ?? '');
      const announcedInstants = announcedTime > from ? [{ at: announcedTime, times: schedule }] : [];
      const note = announcedInstants.length === 0 ? '' : ' Only the next time reported by the service is shown.';
      context.terminal.warn(
        `The times of schedule ${sanitizeLine(schedule.id)} cannot be calculated here: ${sanitizeLine(problem)}.${note}`,
      );
      return announcedInstants;
    });
    if (firings.length === 0 && schedules.length > 0 && schedules.every((schedule) => problemOf(storedTimes(schedule)) !== undefined))
      throw uncountable();
    return firingList(firings);

    function firingList(instants: Instant[]) {
      instants.sort((a, b) => a.at - b.at);
      return wholeList(instants.slice(0, count).map(({ at, times }) => firingAt(at, times)));
    }

    async function selectedSchedules(agent: string, schedule: string | undefined): Promise<Schedule[]> {
      const id = await agentId(context, agent);
      if (schedule !== undefined) return [await findSchedule(context, id, schedule)];
      return (await schedulesOf(context, id)).filter(({ enabled }) => enabled);
    }
  },
});

interface Instant {
  at: number;
  times: ScheduleTimes & { id?: string };
}

const uncountable = (): AopsError =>
  new AopsError('The times of the schedule cannot be calculated here.', {
    code: 'schedule_unreadable',
    exit: exitCodes.failure,
    hint: 'Show it with `aops agents schedules get`, and change its times with `aops agents schedules update`.',
  });

/** @throws UsageError without a frequency */
function withDefaults({ frequency, ...flagTimes }: Partial<ScheduleTimes>): ScheduleTimes {
  if (frequency === undefined)
    throw new UsageError('No agent and no times were specified.', 'Pass an agent, or try out times with --frequency or --cron.');
  return { frequency, time: null, timezone: ownZone(), day: null, day_of_month: null, cron: null, ...flagTimes };
}

function firingAt(at: number, times: ScheduleTimes & { id?: string }): Firing {
  const { timezone } = times;
  return {
    at: new Date(at).toISOString(),
    local: localTime(at, timezone),
    when: timesInWords(times),
    timezone,
    schedule_id: times.id ?? null,
  };
}

/** `Mon 2026-07-20 09:00 GMT+2` */
function localTime(instant: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: isKnownZone(timeZone) ? timeZone : 'UTC',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'shortOffset',
  });
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]));
  const [weekday, year, month, day, hour, minute, zone] = (
    ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'timeZoneName'] as const
  ).map((type) => parts.get(type));
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} ${zone}`;
}

function isKnownZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

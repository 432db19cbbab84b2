import { UsageError } from '../../../base/errors.ts';
import { type ScheduleTimes, timesInWords } from '../../../base/schedule-fields.ts';
import type { Schedule } from '../../../interface/types.ts';
import { dateTime, defineCommand, integer, optionalArgument } from '../../define.ts';
import { wholeList } from '../../list.ts';
import { column, listOutput, timeColumn } from '../../output.ts';
import { agentId } from '../../resolve.ts';
import { returns } from '../../result.ts';
import { ownZone, timeOptions, timesGiven } from './options.ts';
import { findSchedule, schedulesOf } from './record.ts';

interface Firing {
  at: string;
  local: string;
  when: string;
  timezone: string;
  schedule_id: string | null;
}

export default defineCommand({
  summary: 'Show when schedules fire next',
  description:
    'Counted on this machine: of one schedule of an agent, of all that are enabled, or, without an agent, of the times that the flags name, to try them before a schedule is made.',
  arguments: {
    agent: optionalArgument('The agent, by id or name', { complete: 'agents' }),
    schedule: optionalArgument('The id of the schedule', { complete: 'schedules' }),
  },
  options: {
    ...timeOptions,
    count: integer('N', 'How many times to show (default 5)', { minimum: 1, maximum: 1_000 }),
    from: dateTime('Count from this time instead of now'),
  },
  operations: ['listAgents', 'listAgentSchedules'],
  examples: [
    { command: 'aops agents schedules next invoice-check', text: 'What comes next' },
    { command: 'aops agents schedules next --frequency monthly --day-of-month 31 --count 12', text: 'Try times before a schedule is made' },
  ],
  result: returns({ at: 'date-time', local: 'string', when: 'string', timezone: 'string', schedule_id: 'string|null' }),
  output: listOutput<Firing>({
    columns: [
      column('LOCAL TIME', (firing) => firing.local),
      timeColumn('AT', (firing) => firing.at),
      column('WHEN', (firing) => firing.when, { shrink: true }),
      column('TIME ZONE', (firing) => firing.timezone, { shrink: true }),
    ],
    empty: 'No schedule is enabled.',
  }),
  async run(context, input) {
    const given = timesGiven(input);
    if (input.agent !== undefined && Object.keys(given).length > 0)
      throw new UsageError('An agent and times exclude each other.', 'Leave the agent out to try times.');
    const from = input.from === undefined ? context.clock.now() : Date.parse(input.from.iso(context.clock.now()));
    const { nextTimes, timesProblems } = await import('../../../base/schedule-times.ts');
    const schedules = input.agent === undefined ? [tried(given)] : await wanted(input.agent, input.schedule);
    const count = input.count ?? 5;
    for (const times of schedules) {
      const problems = timesProblems(times);
      if (problems.length > 0) throw new UsageError(`${problems.map(({ field, message }) => `${field} ${message}`).join('; ')}.`);
    }
    const firings = schedules.flatMap((times) => nextTimes(times, from, firesOnce(times) ? 1 : count).map((at) => ({ at, times })));
    firings.sort((a, b) => a.at - b.at);
    return wholeList(firings.slice(0, count).map(({ at, times }) => firing(at, times)));

    async function wanted(agent: string, schedule: string | undefined): Promise<Schedule[]> {
      const id = await agentId(context, agent);
      if (schedule !== undefined) return [await findSchedule(context, id, schedule)];
      return (await schedulesOf(context, id)).filter(({ enabled }) => enabled);
    }
  },
});

const firesOnce = (times: ScheduleTimes & { recurring?: boolean | null }): boolean => times.recurring === false;

/** @throws UsageError without a frequency */
function tried({ frequency, ...given }: Partial<ScheduleTimes>): ScheduleTimes {
  if (frequency === undefined) throw new UsageError('Name an agent, or times to try.', 'Say how often with --frequency, or with --cron.');
  return { frequency, time: null, timezone: ownZone(), day: null, day_of_month: null, cron: null, ...given };
}

function firing(at: number, times: ScheduleTimes & { id?: string; recurring?: boolean | null }): Firing {
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
function localTime(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'shortOffset',
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const [weekday, year, month, day, hour, minute, zone] = (
    ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'timeZoneName'] as const
  ).map((type) => parts.get(type));
  return `${weekday} ${year}-${month}-${day} ${hour}:${minute} ${zone}`;
}

/** The flags for creating and updating schedules, and the body they describe. */
import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { type Frequency, frequencies, isTimeOfDay, weekdays } from '../../../base/schedule-fields.ts';
import { readContent } from '../../../cli/input/body.ts';
import { type Check, length } from '../../../cli/kit/checks.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { choice, integer, text, toggle } from '../../../cli/kit/flags.ts';

const timeOfDay: Check = (value, name) => {
  if (isTimeOfDay(value)) return value;
  throw new UsageError(`${name} "${value}" is not a time of day.`, 'Use the 24-hour format HH:MM, such as 09:00.');
};

export const timeOptions = {
  frequency: choice(frequencies, 'How often', { metavar: 'WORD' }),
  time: text('HH:MM', 'Time of day (default: 09:00); hourly schedules use only the minutes', { check: timeOfDay }),
  timezone: text('ZONE', 'Time zone, such as Europe/Berlin', { check: length(1) }),
  day: choice(weekdays, 'Day of a weekly schedule (default: monday)', { metavar: 'DAY' }),
  dayOfMonth: integer('N', 'Day of a monthly schedule (default: 1); shorter months use their last day', { minimum: 1, maximum: 31 }),
  cron: text('PATTERN', 'Cron expression with five fields, instead of --frequency', { check: length(1, 200) }),
};

export const scheduleOptions = {
  ...timeOptions,
  task: text('TEXT|@FILE|-', 'Message for the runs', { complete: 'files' }),
  once: toggle('Fire only once'),
  enabled: toggle('Whether the schedule is enabled'),
};

interface TimeInput {
  frequency: Frequency | undefined;
  time: string | undefined;
  timezone: string | undefined;
  day: (typeof weekdays)[number] | undefined;
  dayOfMonth: number | undefined;
  cron: string | undefined;
}

/** The fields from the flags. `--cron`, `--day` and `--day-of-month` imply the frequency. @throws UsageError */
export function timesFromFlags(input: TimeInput) {
  const { time, timezone, day, dayOfMonth, cron } = input;
  if (cron !== undefined && input.frequency !== undefined && input.frequency !== 'custom')
    throw new UsageError('--cron and --frequency cannot be combined.');
  const impliedFrequency = cron !== undefined ? 'custom' : dayOfMonth !== undefined ? 'monthly' : day !== undefined ? 'weekly' : undefined;
  return omitUndefined({
    frequency: input.frequency ?? (impliedFrequency as Frequency | undefined),
    time,
    timezone,
    day,
    day_of_month: dayOfMonth,
    cron,
  });
}

/** The fields from the flags other than the times. */
export async function settingsFromFlags(
  context: Context,
  input: { task: string | undefined; once: boolean | undefined; enabled: boolean | undefined },
) {
  return omitUndefined({
    task: input.task === undefined ? undefined : await readContent(context, input.task),
    recurring: input.once === undefined ? undefined : !input.once,
    enabled: input.enabled,
  });
}

/** The time zone of this machine. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** What creating and changing a schedule share: the flags, and the body they describe. */
import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { type Frequency, frequencies, isTimeOfDay, weekdays } from '../../../base/schedule-fields.ts';
import { readContent } from '../../../cli/input/body.ts';
import { type Check, length } from '../../../cli/kit/checks.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { choice, integer, text, toggle } from '../../../cli/kit/flags.ts';

const timeOfDay: Check = (value, name) => {
  if (isTimeOfDay(value)) return value;
  throw new UsageError(`${name} "${value}" is not a time of the day.`, 'Write it as HH:MM in 24 hours, such as 09:00.');
};

export const timeOptions = {
  frequency: choice(frequencies, 'How often', { metavar: 'WORD' }),
  time: text('HH:MM', 'At this time (default 09:00); of an hourly one the minutes count', { check: timeOfDay }),
  timezone: text('ZONE', 'Time zone of the time, such as Europe/Berlin', { check: length(1) }),
  day: choice(weekdays, 'Day of a weekly one (default monday)', { metavar: 'DAY' }),
  dayOfMonth: integer('N', 'Day of a monthly one (default 1); shorter months take their last day', { minimum: 1, maximum: 31 }),
  cron: text('PATTERN', 'Five fields of cron, instead of --frequency', { check: length(1, 200) }),
};

export const scheduleOptions = {
  ...timeOptions,
  task: text('TEXT|@FILE|-', 'Message of the runs', { complete: 'files' }),
  once: toggle('Fire once, instead of again and again'),
  enabled: toggle('Whether it fires'),
};

interface TimeInput {
  frequency: Frequency | undefined;
  time: string | undefined;
  timezone: string | undefined;
  day: (typeof weekdays)[number] | undefined;
  dayOfMonth: number | undefined;
  cron: string | undefined;
}

/** The fields that the flags name. `--cron`, `--day` and `--day-of-month` say which frequency is meant. @throws UsageError */
export function timesGiven(input: TimeInput) {
  const { time, timezone, day, dayOfMonth, cron } = input;
  if (cron !== undefined && input.frequency !== undefined && input.frequency !== 'custom')
    throw new UsageError('--cron and --frequency exclude each other.');
  const implied = cron !== undefined ? 'custom' : dayOfMonth !== undefined ? 'monthly' : day !== undefined ? 'weekly' : undefined;
  return omitUndefined({
    frequency: input.frequency ?? (implied as Frequency | undefined),
    time,
    timezone,
    day,
    day_of_month: dayOfMonth,
    cron,
  });
}

/** What the flags say beside the times. */
export async function settingsGiven(
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

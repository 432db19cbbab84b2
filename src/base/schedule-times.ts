/**
 * When a schedule fires: from its fields to cron patterns, and from those to instants. Pure; the command line and the service
 * share this code. A time that the clocks skip in spring fires at the first instant after the gap, and a time that occurs twice
 * in autumn fires the first time. Schedules that repeat within the day (every 15 minutes, hourly, a pattern with `*` or a step
 * for the minute or the hour) go by elapsed time instead.
 */
import { Cron } from 'croner';
import { endOfGap, zoneOffset } from './clock-gap.ts';
import { nearest } from './nearest.ts';
import {
  type Frequency,
  fieldsOf,
  frequencies,
  isFrequency,
  isTimeOfDay,
  type ScheduleTimes,
  weekdays,
  withDefaultTimes,
} from './schedule-fields.ts';

export { type ScheduleTimes, timesInWords, withDefaultTimes } from './schedule-fields.ts';

/** An invalid field, and why it is invalid. */
export interface TimesProblem {
  field: keyof ScheduleTimes;
  message: string;
}

/** All problems with the times; empty when they are valid. */
export function timesProblems(times: ScheduleTimes): TimesProblem[] {
  const { frequency } = times;
  if (!isFrequency(frequency)) return [{ field: 'frequency', message: `must be one of: ${frequencies.join(', ')}` }];
  const problems: TimesProblem[] = [];
  for (const field of ['time', 'day', 'day_of_month', 'cron'] as const) {
    if (times[field] === null || fieldsOf[frequency].includes(field)) continue;
    const allowedFrequencies = frequencies.filter((frequency) => fieldsOf[frequency].includes(field));
    problems.push({ field, message: `is not used with ${frequency}, only with ${allowedFrequencies.join(', ')}` });
  }
  if (times.time !== null && !isTimeOfDay(times.time))
    problems.push({ field: 'time', message: 'must be HH:MM in 24 hours, such as 09:00' });
  if (times.day !== null && !(weekdays as readonly string[]).includes(times.day))
    problems.push({ field: 'day', message: `must be one of: ${weekdays.join(', ')}` });
  const zone = zoneProblem(times.timezone);
  if (zone !== undefined) problems.push({ field: 'timezone', message: zone });
  if (frequency === 'custom') {
    const problem =
      times.cron === null ? 'is required for a custom schedule' : cronProblem(times.cron, zone === undefined ? times.timezone : 'UTC');
    if (problem !== undefined) problems.push({ field: 'cron', message: problem });
  }
  return problems;
}

function zoneProblem(zone: string): string | undefined {
  // Only newer versions of Node accept offsets as names, and offsets do not follow daylight saving time.
  if (/^[A-Za-z]/.test(zone)) {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone });
      return undefined;
    } catch {
      // Reported below.
    }
  }
  const suggestion = nearest(zone, Intl.supportedValuesOf('timeZone'));
  return `must be the IANA name of a time zone, such as Europe/Berlin or UTC${suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`}`;
}

function cronProblem(pattern: string, timezone: string): string | undefined {
  const fields = pattern.trim().split(/\s+/);
  if (pattern.trim() === '' || fields.length !== 5)
    return 'must have five fields: minute, hour, day of the month, month, day of the week, such as 30 9 * * 1-5';
  // Croner's other extensions would make a pattern depend on the moment at which it is parsed.
  const invalidField = fields.find((field) => !/^[\dA-Za-z*,/#-]+$/.test(field));
  if (invalidField !== undefined) return `contains an invalid field: ${invalidField}`;
  try {
    return cronOf(fields.join(' '), timezone).nextRun(new Date(0)) === null ? 'never matches any time' : undefined;
  } catch (error) {
    return `is not a valid cron pattern: ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)}`;
  }
}

/** The cron patterns that together produce the instants of the schedule. */
export function cronPatterns(schedule: ScheduleTimes): string[] {
  const times = withDefaultTimes(schedule);
  const [hour, minute] = (times.time ?? '00:00').split(':').map(Number) as [number, number];
  const timeFields = `${minute} ${hour}`;
  switch (times.frequency as Frequency) {
    case 'every_5_minutes':
      return ['*/5 * * * *'];
    case 'every_15_minutes':
      return ['*/15 * * * *'];
    case 'hourly':
      return [`${minute} * * * *`];
    case 'daily':
      return [`${timeFields} * * *`];
    case 'workday':
      return [`${timeFields} * * 1-5`];
    case 'weekly':
      return [`${timeFields} * * ${(weekdays.indexOf((times.day ?? 'monday') as 'monday') + 1) % 7}`];
    case 'monthly': {
      const day = times.day_of_month ?? 1;
      if (day <= 28) return [`${timeFields} ${day} * *`];
      if (day === 31) return [`${timeFields} L * *`];
      // Only February is too short for the 29th and the 30th.
      return [`${timeFields} ${day} 1,3-12 *`, `${timeFields} L 2 *`];
    }
    case 'custom':
      return [(times.cron ?? '').trim().split(/\s+/).join(' ')];
  }
}

/**
 * The first instant of the schedule after a moment, both in milliseconds; undefined when it never fires again. The fields must be
 * valid (`timesProblems`).
 */
export function nextTime(times: ScheduleTimes, after: number): number | undefined {
  const instants = cronPatterns(times).flatMap((pattern) => nextOf(pattern, times.timezone, after) ?? []);
  return instants.length === 0 ? undefined : Math.min(...instants);
}

function nextOf(pattern: string, timezone: string, after: number): number | undefined {
  const next = cronOf(pattern, timezone).nextRun(new Date(after))?.getTime();
  if (next === undefined || goesByElapsedTime(pattern)) return next;
  // Croner handles a gap only within one day: where the clocks go from 23:00 to midnight, it skips the times in between.
  const [from, until] = [after + zoneOffset(after, timezone), next + zoneOffset(next, timezone)];
  const walls = cronOf(pattern, 'UTC');
  for (let wall = walls.nextRun(new Date(from)); wall !== null && wall.getTime() < until; wall = walls.nextRun(wall)) {
    const end = endOfGap(wall.getTime(), timezone);
    if (end !== undefined && end > after && end < next) return end;
  }
  return next;
}

/** Whether the minute or the hour has a `*` or a step. */
const goesByElapsedTime = (pattern: string): boolean => /^\S*[*/]|^\S+ \S*[*/]/.test(pattern);

/** The next instants, at most `count`. */
export function nextTimes(times: ScheduleTimes, after: number, count: number): number[] {
  const instants: number[] = [];
  for (let instant = nextTime(times, after); instant !== undefined && instants.length < count; instant = nextTime(times, instant))
    instants.push(instant);
  return instants;
}

const cronOf = (pattern: string, timezone: string): Cron =>
  new Cron(pattern, { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard', paused: true });

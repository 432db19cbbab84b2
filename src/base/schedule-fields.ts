/** The fields of a schedule that define when it fires, and their wording for people. schedule-times.ts computes the times. */
import { capitalize } from './capitalize.ts';
export const frequencies = ['every_5_minutes', 'every_15_minutes', 'hourly', 'daily', 'workday', 'weekly', 'monthly', 'custom'] as const;
export type Frequency = (typeof frequencies)[number];
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** The fields of a schedule that define when it fires, as in the interface. */
export interface ScheduleTimes {
  frequency: string;
  /** HH:MM in 24 hours. */
  time: string | null;
  /** An IANA name. */
  timezone: string;
  day: string | null;
  day_of_month: number | null;
  /** Five fields. */
  cron: string | null;
}

/** The fields that each frequency uses in addition to the time zone. */
export const fieldsOf: Readonly<Record<Frequency, readonly (keyof ScheduleTimes)[]>> = {
  every_5_minutes: [],
  every_15_minutes: [],
  hourly: ['time'],
  daily: ['time'],
  workday: ['time'],
  weekly: ['time', 'day'],
  monthly: ['time', 'day_of_month'],
  custom: ['cron'],
};

export const isFrequency = (word: string): word is Frequency => (frequencies as readonly string[]).includes(word);

/** `HH:MM` in 24 hours. */
export const isTimeOfDay = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);

/** The same times with the defaults of the frequency filled in: 09:00 (hourly: on the hour), monday, the first of the month. */
export function withDefaultTimes(times: ScheduleTimes): ScheduleTimes {
  const fields = isFrequency(times.frequency) ? fieldsOf[times.frequency] : [];
  return {
    ...times,
    time: times.time ?? (fields.includes('time') ? (times.frequency === 'hourly' ? '00:00' : '09:00') : null),
    day: times.day ?? (fields.includes('day') ? 'monday' : null),
    day_of_month: times.day_of_month ?? (fields.includes('day_of_month') ? 1 : null),
  };
}

/**
 * Normalises times as a service stores them for computing with: fields left over from another frequency are dropped, and `9:00`,
 * `09:00:00` and `Monday` are understood. A value that cannot be understood is left unchanged.
 */
export function storedTimes(times: ScheduleTimes): ScheduleTimes {
  const fields = isFrequency(times.frequency) ? fieldsOf[times.frequency] : [];
  const { time, day, day_of_month, cron } = times;
  return {
    ...times,
    time: fields.includes('time') && time ? clockTime(time) : null,
    day: fields.includes('day') && day ? weekday(day) : null,
    day_of_month: fields.includes('day_of_month') ? (day_of_month ?? null) : null,
    cron: fields.includes('cron') ? (cron ?? null) : null,
  };
}

/** HH:MM from a time that may lack the leading zero or include seconds. */
function clockTime(text: string): string {
  const [, hour, minute] = /^(\d{1,2}):(\d\d)(?::\d\d(?:\.\d+)?)?$/.exec(text.trim()) ?? [];
  return hour === undefined ? text : `${hour.padStart(2, '0')}:${minute}`;
}

function weekday(text: string): string {
  const word = text.trim().toLowerCase();
  return weekdays.find((day) => word === day || word === day.slice(0, 3)) ?? text;
}

/** A schedule in words, however it is stored: `Monday to Friday at 09:00`. */
export function timesInWords(schedule: ScheduleTimes): string {
  const times = withDefaultTimes(storedTimes(schedule));
  switch (times.frequency as Frequency) {
    case 'every_5_minutes':
      return 'every 5 minutes';
    case 'every_15_minutes':
      return 'every 15 minutes';
    case 'hourly':
      return hourlyInWords(times.time ?? '');
    case 'daily':
      return `every day at ${times.time}`;
    case 'workday':
      return `Monday to Friday at ${times.time}`;
    case 'weekly':
      return `every ${capitalize(times.day ?? '')} at ${times.time}`;
    case 'monthly':
      return `every month on day ${times.day_of_month} at ${times.time}`;
    case 'custom':
      return times.cron === null ? 'custom' : `cron ${times.cron}`;
    default:
      return times.frequency;
  }
}

function hourlyInWords(time: string): string {
  const minute = /^\d\d:(\d\d)$/.exec(time)?.[1];
  if (minute === undefined) return `every hour at ${time}`;
  return minute === '00' ? 'every hour' : `every hour at minute ${Number(minute)}`;
}

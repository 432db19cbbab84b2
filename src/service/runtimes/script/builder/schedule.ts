/** When an agent should run, in words. A procedure has no schedule, so it is suggested as something to set up. Pure. */
import { capitalize } from '../../../../base/capitalize.ts';
import type { Statement } from '../../../words/statements.ts';

export interface Schedule {
  frequency: 'every_5_minutes' | 'every_15_minutes' | 'hourly' | 'daily' | 'workday' | 'weekly' | 'monthly';
  /** HH:MM, in 24 hours. */
  time?: string;
  day?: string;
  dayOfMonth?: number;
}

const days = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday';
const opening =
  /^(?:(?:re)?run|start|schedule|do|execute|repeat)(?:\s+(?:it|this|the agent|this agent|the procedure|the whole thing))?\b[\s,:]*(.*)$/;
const frequencies: readonly (readonly [RegExp, Schedule['frequency']])[] = [
  [/^every (?:5|five) minutes/, 'every_5_minutes'],
  [/^every (?:15|fifteen) minutes|^every quarter of an hour/, 'every_15_minutes'],
  [/^(?:hourly|every hour|once an hour)/, 'hourly'],
  [/^(?:(?:on )?(?:every |each )?(?:workday|weekday)s?|on (?:work|week)days)/, 'workday'],
  [/^(?:monthly|every month|once a month|on (?:the )?\d+(?:st|nd|rd|th)? of (?:every|each) month)/, 'monthly'],
  [new RegExp(`^(?:weekly|every week|once a week|(?:on |every |each )+(?:${days})s?)`), 'weekly'],
  [/^(?:daily|every day|each day|once a day|every (?:morning|evening|night))/, 'daily'],
];

/** The schedule that a statement asks for; undefined when it asks for something else. */
export function readSchedule({ words }: Statement): Schedule | undefined {
  const remaining = opening.exec(words)?.[1];
  const frequency = remaining === undefined ? undefined : frequencies.find(([pattern]) => pattern.test(remaining))?.[1];
  if (remaining === undefined || frequency === undefined) return undefined;
  const day = new RegExp(`\\b(${days})s?\\b`).exec(remaining)?.[1];
  const dayOfMonth = /\b(\d{1,2})(?:st|nd|rd|th)?\b(?= (?:day )?of (?:every|each|the) month)/.exec(remaining)?.[1];
  const time = readTime(remaining);
  return {
    frequency,
    ...(time === undefined ? {} : { time }),
    ...(day === undefined || frequency !== 'weekly' ? {} : { day }),
    ...(dayOfMonth === undefined || frequency !== 'monthly' ? {} : { dayOfMonth: Number(dayOfMonth) }),
  };
}

function readTime(words: string): string | undefined {
  const match = /\bat (\d{1,2})(?::(\d\d))?\s*(am|pm)?(?: o'clock)?\b/.exec(words);
  if (!match) return /\bat noon\b/.test(words) ? '12:00' : /\bat midnight\b/.test(words) ? '00:00' : undefined;
  const hour = (Number(match[1]) % (match[3] ? 12 : 24)) + (match[3] === 'pm' ? 12 : 0);
  return `${String(hour).padStart(2, '0')}:${match[2] ?? '00'}`;
}

/** A schedule for people: `every day at 09:00`. */
export function scheduleWords({ frequency, time, day, dayOfMonth }: Schedule): string {
  const words = {
    every_5_minutes: 'every 5 minutes',
    every_15_minutes: 'every 15 minutes',
    hourly: 'every hour',
    daily: 'every day',
    workday: 'every workday',
    weekly: day === undefined ? 'every week' : `every ${capitalize(day)}`,
    monthly: dayOfMonth === undefined ? 'every month' : `every month on day ${dayOfMonth}`,
  }[frequency];
  return time === undefined ? words : `${words} at ${time}`;
}

/** When schedules fire: every frequency, short months, and the days on which the clocks change. */
import { describe, expect, it } from 'vitest';
import { storedTimes } from '../../src/base/schedule-fields.ts';
import { nextTimes, type ScheduleTimes, timesInWords, timesProblems } from '../../src/base/schedule-times.ts';

const times = (fields: Partial<ScheduleTimes>): ScheduleTimes => ({
  frequency: 'daily',
  time: null,
  timezone: 'UTC',
  day: null,
  day_of_month: null,
  cron: null,
  ...fields,
});
const next = (fields: Partial<ScheduleTimes>, after: string, count = 3): string[] =>
  nextTimes(times(fields), Date.parse(after), count).map((time) => new Date(time).toISOString().replace(':00.000Z', 'Z'));

describe('times as a service stores them', () => {
  it.each<[Partial<ScheduleTimes>, Partial<ScheduleTimes>, string]>([
    [{ frequency: 'every_5_minutes', time: '08:00', day: 'friday', cron: '* * * * *' }, {}, 'every 5 minutes'],
    [{ time: '9:00' }, { time: '09:00' }, 'every day at 09:00'],
    [{ time: '09:30:00' }, { time: '09:30' }, 'every day at 09:30'],
    [{ frequency: 'weekly', day: 'Monday', time: '10:00', day_of_month: 3 }, { day: 'monday', time: '10:00' }, 'every Monday at 10:00'],
    [{ frequency: 'weekly', day: 'FRI' }, { day: 'friday' }, 'every Friday at 09:00'],
    [{ frequency: 'hourly', time: '0:05' }, { time: '00:05' }, 'every hour at minute 5'],
  ])('%j are normalised', (fields, expected, words) => {
    const storedSchedule = storedTimes(times(fields));
    expect(storedSchedule).toEqual(times({ ...expected, frequency: storedSchedule.frequency }));
    expect(timesProblems(storedSchedule)).toEqual([]);
    expect(timesInWords(times(fields))).toBe(words);
  });

  it.each<[Partial<ScheduleTimes>, string]>([
    [{ frequency: 'hourly', time: 'noon' }, 'every hour at noon'],
    [{ frequency: 'custom' }, 'custom'],
    [{ frequency: 'fortnightly' }, 'fortnightly'],
  ])('%j are left unchanged and can still be described', (fields, words) => {
    expect(timesProblems(storedTimes(times(fields)))).toHaveLength(1);
    expect(timesInWords(times(fields))).toBe(words);
  });

  it('may lack the fields that the frequency does not use', () => {
    expect(storedTimes({ frequency: 'daily', timezone: 'UTC' } as ScheduleTimes)).toEqual(times({}));
  });
});

describe('a frequency', () => {
  it.each<[Partial<ScheduleTimes>, string[]]>([
    [{ frequency: 'every_5_minutes' }, ['2026-07-18T09:05Z', '2026-07-18T09:10Z', '2026-07-18T09:15Z']],
    [{ frequency: 'every_15_minutes' }, ['2026-07-18T09:15Z', '2026-07-18T09:30Z', '2026-07-18T09:45Z']],
    [{ frequency: 'hourly' }, ['2026-07-18T10:00Z', '2026-07-18T11:00Z', '2026-07-18T12:00Z']],
    [{ frequency: 'hourly', time: '00:20' }, ['2026-07-18T09:20Z', '2026-07-18T10:20Z', '2026-07-18T11:20Z']],
    [{ frequency: 'daily' }, ['2026-07-19T09:00Z', '2026-07-20T09:00Z', '2026-07-21T09:00Z']],
    [{ frequency: 'daily', time: '23:59' }, ['2026-07-18T23:59Z', '2026-07-19T23:59Z', '2026-07-20T23:59Z']],
    // A Saturday.
    [{ frequency: 'workday', time: '10:00' }, ['2026-07-20T10:00Z', '2026-07-21T10:00Z', '2026-07-22T10:00Z']],
    [{ frequency: 'weekly' }, ['2026-07-20T09:00Z', '2026-07-27T09:00Z', '2026-08-03T09:00Z']],
    [{ frequency: 'weekly', day: 'sunday', time: '06:30' }, ['2026-07-19T06:30Z', '2026-07-26T06:30Z', '2026-08-02T06:30Z']],
    [{ frequency: 'monthly' }, ['2026-08-01T09:00Z', '2026-09-01T09:00Z', '2026-10-01T09:00Z']],
    [{ frequency: 'custom', cron: '0 12 * * MON#2' }, ['2026-08-10T12:00Z', '2026-09-14T12:00Z', '2026-10-12T12:00Z']],
    [{ frequency: 'custom', cron: ' 30  8-9 * * 1-5 ' }, ['2026-07-20T08:30Z', '2026-07-20T09:30Z', '2026-07-21T08:30Z']],
  ])('%j', (fields, expected) => {
    // The instant itself does not count as the next one.
    expect(next(fields, '2026-07-18T09:00:00Z')).toEqual(expected);
  });

  it('fires on the last day of a month that is too short', () => {
    const timesOnDay = (day_of_month: number, after: string) =>
      next({ frequency: 'monthly', day_of_month, time: '00:00' }, after, 4).map((text) => text.slice(0, 10));
    expect(timesOnDay(31, '2027-01-01T12:00:00Z')).toEqual(['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30']);
    expect(timesOnDay(30, '2027-01-01T12:00:00Z')).toEqual(['2027-01-30', '2027-02-28', '2027-03-30', '2027-04-30']);
    expect(timesOnDay(29, '2027-01-01T12:00:00Z')).toEqual(['2027-01-29', '2027-02-28', '2027-03-29', '2027-04-29']);
    expect(timesOnDay(29, '2028-01-31T12:00:00Z')).toEqual(['2028-02-29', '2028-03-29', '2028-04-29', '2028-05-29']);
    expect(timesOnDay(31, '2028-01-31T12:00:00Z')).toEqual(['2028-02-29', '2028-03-31', '2028-04-30', '2028-05-31']);
  });
});

describe('daylight saving', () => {
  const zone = (timezone: string, time: string) => ({ frequency: 'daily', timezone, time });

  it('fires once, after the gap, at a time that does not exist in spring', () => {
    expect(next(zone('Europe/Berlin', '02:30'), '2026-03-27T12:00:00Z')).toEqual([
      '2026-03-28T01:30Z',
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    expect(next(zone('America/New_York', '02:30'), '2026-03-06T12:00:00Z')).toEqual([
      '2026-03-07T07:30Z',
      '2026-03-08T07:00Z',
      '2026-03-09T06:30Z',
    ]);
  });

  it('fires only the first time at a time that occurs twice in autumn', () => {
    expect(next(zone('Europe/Berlin', '02:30'), '2026-10-23T12:00:00Z')).toEqual([
      '2026-10-24T00:30Z',
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ]);
    expect(next(zone('America/New_York', '01:30'), '2026-10-30T12:00:00Z')).toEqual([
      '2026-10-31T05:30Z',
      '2026-11-01T05:30Z',
      '2026-11-02T06:30Z',
    ]);
    // It does not fire again when the search starts between the two.
    expect(next(zone('America/New_York', '01:30'), '2026-11-01T06:00:00Z', 1)).toEqual(['2026-11-02T06:30Z']);
  });

  it('is handled for a cron pattern with fixed hours, and for a shift of half an hour', () => {
    const cron = { frequency: 'custom', cron: '30 2,14 * * *', timezone: 'Europe/Berlin' };
    expect(next(cron, '2026-03-28T20:00:00Z')).toEqual(['2026-03-29T01:00Z', '2026-03-29T12:30Z', '2026-03-30T00:30Z']);
    expect(next(zone('Australia/Lord_Howe', '02:15'), '2026-10-03T00:00:00Z', 2)).toEqual(['2026-10-03T15:30Z', '2026-10-04T15:15Z']);
  });

  it('is handled where the clocks go from 23:00 to midnight, so that the gap ends on another day', () => {
    const nuuk = { timezone: 'America/Nuuk', time: '23:30' };
    expect(next({ ...nuuk, frequency: 'daily' }, '2027-03-26T12:00:00Z')).toEqual([
      '2027-03-27T01:30Z',
      '2027-03-28T01:00Z',
      '2027-03-29T00:30Z',
    ]);
    expect(next({ ...nuuk, frequency: 'weekly', day: 'saturday' }, '2027-03-26T12:00:00Z', 2)).toEqual([
      '2027-03-28T01:00Z',
      '2027-04-04T00:30Z',
    ]);
    // It does not fire twice where midnight is also one of its times.
    const cron = { frequency: 'custom', cron: '0 0,23 * * *', timezone: 'America/Nuuk' };
    expect(next(cron, '2027-03-27T12:00:00Z', 2)).toEqual(['2027-03-28T01:00Z', '2027-03-29T00:00Z']);
  });

  it('does not affect schedules that repeat within the day, which go by elapsed time', () => {
    const hourly = { frequency: 'hourly', timezone: 'Europe/Berlin' };
    expect(next(hourly, '2026-10-24T23:30:00Z', 4)).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T01:00Z',
      '2026-10-25T02:00Z',
      '2026-10-25T03:00Z',
    ]);
    expect(next(hourly, '2026-03-29T00:30:00Z', 2)).toEqual(['2026-03-29T01:00Z', '2026-03-29T02:00Z']);
    expect(next({ frequency: 'every_15_minutes', timezone: 'America/New_York' }, '2026-11-01T05:00:00Z', 8)).toHaveLength(8);
  });
});

describe('invalid times', () => {
  it.each<[Partial<ScheduleTimes>, string, RegExp]>([
    [{ frequency: 'yearly' }, 'frequency', /one of: every_5_minutes/],
    [{ time: '9:00' }, 'time', /HH:MM/],
    [{ time: '24:00' }, 'time', /HH:MM/],
    [{ timezone: 'Europe/Berln' }, 'timezone', /did you mean Europe\/Berlin\?/],
    [{ timezone: '+02:00' }, 'timezone', /IANA/],
    [{ timezone: '' }, 'timezone', /IANA/],
    [{ day: 'monday' }, 'day', /is not used with daily, only with weekly/],
    [{ frequency: 'weekly', day: 'mon' }, 'day', /one of: monday/],
    [{ frequency: 'every_5_minutes', time: '09:00' }, 'time', /only with hourly, daily/],
    [{ frequency: 'weekly', day_of_month: 3 }, 'day_of_month', /only with monthly/],
    [{ cron: '0 9 * * *' }, 'cron', /only with custom/],
    [{ frequency: 'custom' }, 'cron', /is required/],
    [{ frequency: 'custom', cron: '0 0 9 * * *' }, 'cron', /five fields/],
    [{ frequency: 'custom', cron: '@daily' }, 'cron', /five fields/],
    [{ frequency: 'custom', cron: '? 9 * * *' }, 'cron', /contains an invalid field: \?/],
    [{ frequency: 'custom', cron: '61 9 * * *' }, 'cron', /minute: 61/],
    [{ frequency: 'custom', cron: '0 0 30 2 *' }, 'cron', /never matches any time/],
  ])('%j', (fields, field, message) => {
    expect(timesProblems(times(fields))).toEqual([{ field, message: expect.stringMatching(message) as string }]);
  });
});

it('describes times in words', () => {
  const words = [
    { frequency: 'every_5_minutes' },
    { frequency: 'hourly' },
    { frequency: 'hourly', time: '00:20' },
    { frequency: 'daily', time: '08:00' },
    { frequency: 'workday' },
    { frequency: 'weekly', day: 'friday' },
    { frequency: 'monthly', day_of_month: 31 },
    { frequency: 'custom', cron: '*/7 * * * *' },
  ].map((fields) => timesInWords(times(fields)));
  expect(words).toEqual([
    'every 5 minutes',
    'every hour',
    'every hour at minute 20',
    'every day at 08:00',
    'Monday to Friday at 09:00',
    'every Friday at 09:00',
    'every month on day 31 at 09:00',
    'cron */7 * * * *',
  ]);
});

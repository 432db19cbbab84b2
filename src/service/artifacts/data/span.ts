/** Converts periods to instants, and divides counts over time into buckets. All times are in UTC. Pure. */
import type { Field, Period } from '../page.ts';

/** ISO 8601; `since` is included, `until` is not. */
export interface Span {
  since?: string;
  until?: string;
}

const hour = 3_600_000;
const day = 24 * hour;
const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** `last` covers whole hours, days, weeks, or months including the current one: the last 7 days are today and the six days before. */
export function spanOf(period: Period | undefined, now: number): Span {
  if (period === undefined) return {};
  const date = new Date(now);
  const [year, month, midnight] = [date.getUTCFullYear(), date.getUTCMonth(), Math.floor(now / day) * day];
  switch (period.kind) {
    case 'since':
      return { since: iso(Date.parse(period.date)) };
    case 'yesterday':
      return { since: iso(midnight - day), until: iso(midnight) };
    case 'this':
      if (period.unit === 'week') return { since: iso(mondayOf(midnight)) };
      if (period.unit === 'day') return { since: iso(midnight) };
      return { since: iso(Date.UTC(year, period.unit === 'month' ? month : 0)) };
    case 'last':
      return { since: iso(startOf(period, now)) };
  }
}

function startOf({ count, unit }: Extract<Period, { kind: 'last' }>, now: number): number {
  if (unit === 'hour') return Math.floor(now / hour) * hour - (count - 1) * hour;
  const midnight = Math.floor(now / day) * day;
  if (unit !== 'month') return midnight - (count * (unit === 'week' ? 7 : 1) - 1) * day;
  const { year, month, date } = {
    year: new Date(now).getUTCFullYear(),
    month: new Date(now).getUTCMonth(),
    date: new Date(now).getUTCDate(),
  };
  // A month that is too short for the day ends with its last day.
  const days = new Date(Date.UTC(year, month - count + 1, 0)).getUTCDate();
  return Math.max(0, Date.UTC(year, month - count, Math.min(date, days)) + day);
}

const mondayOf = (midnight: number): number => midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * day;

/** The number of characters of an ISO 8601 instant that identify its bucket; weeks are summed up from days. */
export const bucketLength = (field: Field): number => ({ hour: 13, month: 7 })[field as string] ?? 10;

/** The maximum number of buckets in a chart, which shows the latest ones. */
const maxBuckets = 400;
/** The maximum length of a bucket in milliseconds. */
const maxLength = { hour, day, week: 7 * day, month: 31 * day };

/**
 * The counts of all buckets of a span, in order, including empty buckets.
 * @param counts by bucket; for weeks by day
 */
export function series(field: Field, counts: ReadonlyMap<string, number>, span: Span, now: number): { label: string; value: number }[] {
  const sums = new Map<string, number>();
  for (const [bucket, count] of counts) {
    const label = labelOf(field, instantOf(bucket));
    sums.set(label, (sums.get(label) ?? 0) + count);
  }
  const [earliestBucket] = [...counts.keys()].sort();
  const first = span.since ?? (earliestBucket === undefined ? undefined : iso(instantOf(earliestBucket)));
  if (first === undefined) return [];
  const end = span.until === undefined ? now : Date.parse(span.until) - 1;
  // Starts no earlier than the chart does: a span can begin thousands of years ago.
  const minStart = Math.floor(end / hour) * hour - maxBuckets * maxLength[field as keyof typeof maxLength];
  const labels: string[] = [];
  for (let time = Math.max(Date.parse(first), minStart); time <= end; time = next(field, time)) labels.push(labelOf(field, time));
  return [...new Set(labels)].slice(-maxBuckets).map((label) => ({ label, value: sums.get(label) ?? 0 }));
}

const instantOf = (bucket: string): number =>
  Date.parse(bucket.length === 13 ? `${bucket}:00:00.000Z` : bucket.length === 7 ? `${bucket}-01` : bucket);

function labelOf(field: Field, time: number): string {
  if (field === 'week') return iso(mondayOf(Math.floor(time / day) * day)).slice(0, 10);
  return iso(time).slice(0, bucketLength(field));
}

function next(field: Field, time: number): number {
  if (field === 'hour') return time + hour;
  if (field !== 'month') return Math.floor(time / day) * day + day;
  return Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth() + 1);
}

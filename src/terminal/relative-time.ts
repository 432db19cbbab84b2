/** Times as people read them (`3m ago`) and as programs do (ISO 8601, UTC). */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** Beyond this a date is clearer than a number of days. */
const maxRelativeAge = 30 * day;

/** `3m ago`, `in 2h`, `just now`; a date such as `2026-07-18` when it is more than 30 days in the past or future. */
export function relativeTime(date: Date, now: number): string {
  const difference = now - date.getTime();
  const distance = Math.abs(difference);
  if (distance < 5 * second) return 'just now';
  if (distance > maxRelativeAge) return date.toISOString().slice(0, 10);
  const amount = largestUnit(distance);
  return difference > 0 ? `${amount} ago` : `in ${amount}`;
}

/** The time since a date in its largest unit: `45s`, `3h`, `2d`. A date in the future counts as now. */
export const elapsedTime = (date: Date, now: number): string => largestUnit(Math.max(0, now - date.getTime()));

/**
 * A time for a cell or a field: relative on a terminal, ISO 8601 elsewhere.
 * @param value an ISO text, milliseconds since the epoch or a Date; anything else is returned as text.
 */
export function formatTime(value: unknown, options: { now: number; tty: boolean }): string {
  if (value === null || value === undefined) return '';
  const date = new Date(value as string | number | Date);
  if (Number.isNaN(date.getTime())) return String(value);
  if (options.tty) return relativeTime(date, options.now);
  return typeof value === 'string' ? value : date.toISOString();
}

function largestUnit(milliseconds: number): string {
  if (milliseconds < minute) return `${Math.floor(milliseconds / second)}s`;
  if (milliseconds < hour) return `${Math.floor(milliseconds / minute)}m`;
  if (milliseconds < day) return `${Math.floor(milliseconds / hour)}h`;
  return `${Math.floor(milliseconds / day)}d`;
}

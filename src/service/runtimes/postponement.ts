/** Until when a case is postponed, as procedures and agents write it. Pure. */
import { IsDate } from 'typebox/format';

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/i;

/** A date or a time, in milliseconds since the epoch, or why it cannot be used. @param now milliseconds */
export function readUntil(text: string, now: number): { until: number } | { problem: string } {
  const trimmed = text.trim();
  // Date.parse reads the 30th of February as the 2nd of March.
  const until = dateForm.test(trimmed) && IsDate(trimmed.slice(0, 10)) ? Date.parse(trimmed) : Number.NaN;
  if (Number.isNaN(until)) return { problem: `"${text}" is not a date; write 2026-07-18, or 2026-07-18T09:30:00Z.` };
  // A case that is due immediately would be taken and postponed forever.
  return until > now ? { until } : { problem: `${text} is not in the future.` };
}

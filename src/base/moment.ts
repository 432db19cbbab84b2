/**
 * Moments as people write them: `2026-07-01`, `2026-07-01T09:30Z`, `yesterday`, `2h` (ago), `in 3d`. Dates and times without a
 * zone are in the time zone of this machine: whoever writes "today" means their own day.
 */
import { parseDuration } from './duration.ts';

const dateTime = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?([Zz]|[+-]\d\d:?\d\d))?)?$/;
const distance = /^(?:(in) )?(\S+?)( ago)?$/;
const days: Record<string, number> = { yesterday: -1, today: 0, tomorrow: 1 };

/** How moments can be written, for messages. */
export const momentForms = '2026-07-01, 2026-07-01T09:30Z, today, yesterday, 30m, 2h, or 7d (ago)';

/**
 * Milliseconds since the epoch, or undefined when the text is not a moment. A day means the start of that day.
 * @param now milliseconds since the epoch
 */
export function parseMoment(text: string, now: number): number | undefined {
  const words = text.trim();
  const word = words.toLowerCase();
  if (word === 'now') return now;
  if (Object.hasOwn(days, word)) return midnight(now, days[word] as number);
  return fromDate(words) ?? fromDistance(word, now);
}

/** The start of a day in this time zone; a day of 23 or 25 hours counts as one day. */
function midnight(now: number, offset: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + offset).getTime();
}

function fromDate(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part))) as [number, number, number, number?, number?, number?];
  const isCalendarDate = day <= new Date(Date.UTC(year, month, 0)).getUTCDate() && month >= 1 && month <= 12 && day >= 1;
  if (!isCalendarDate || year < 1 || hour > 23 || minute > 59 || second > 59) return undefined;
  const milliseconds = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000);
  const offset = zoneOffset(match[8]);
  if (offset === undefined) {
    const local = new Date(2_000, 0, 1, hour, minute, second, milliseconds);
    // Set separately: the constructor takes a year below 100 to mean 19xx.
    local.setFullYear(year, month - 1, day);
    return local.getTime();
  }
  if (Number.isNaN(offset)) return undefined;
  const utc = new Date(Date.UTC(2_000, 0, 1, hour, minute, second, milliseconds));
  utc.setUTCFullYear(year, month - 1, day);
  return utc.getTime() - offset;
}

/** Milliseconds east of UTC; undefined without a zone, NaN for an impossible one. */
function zoneOffset(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  if (/^z$/i.test(zone)) return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/** `2h`, `2h ago`: before now; `in 2h`: after it. */
function fromDistance(word: string, now: number): number | undefined {
  const [, ahead, length = '', ago] = distance.exec(word) ?? [];
  if (ahead !== undefined && ago !== undefined) return undefined;
  const duration = parseDuration(length);
  if (duration === undefined) return undefined;
  const moment = ahead === undefined ? now - duration : now + duration;
  // The limit of what a Date can represent.
  return Math.abs(moment) > 8.64e15 ? undefined : moment;
}

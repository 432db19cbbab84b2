/** Gaps in local time: the wall-clock times that a zone skips in spring. Pure. Wall times are in milliseconds, as if they were UTC. */

const day = 24 * 60 * 60 * 1_000;

// Creating one takes longer than everything else here.
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
    formats.set(timeZone, format);
  }
  return format;
}

/** How far a time zone is east of UTC at a moment, in milliseconds. */
export function zoneOffset(instant: number, timeZone: string): number {
  const name = formatOf(timeZone)
    .formatToParts(instant)
    .find(({ type }) => type === 'timeZoneName')?.value;
  // `GMT` alone is UTC itself.
  const [, sign, hours, minutes, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name ?? '') ?? [undefined, '+', 0, 0];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
}

/** The first instant after the gap that contains a wall time, in milliseconds; undefined for a wall time that exists. */
export function endOfGap(wall: number, timeZone: string): number | undefined {
  const [before, after] = [zoneOffset(wall - day, timeZone), zoneOffset(wall + day, timeZone)];
  if (after <= before) return undefined;
  let [low, high] = [wall - after, wall - before];
  // Only within the gap is one of them before the change and the other after it.
  if (zoneOffset(low, timeZone) !== before || zoneOffset(high, timeZone) !== after) return undefined;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zoneOffset(middle, timeZone) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Gaps of the clocks: the wall times that a zone skips in spring. Pure. Wall times are milliseconds, as if they were UTC. */

const day = 24 * 60 * 60 * 1_000;

// To make one takes longer than all the rest.
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
export function zoneOffset(at: number, timeZone: string): number {
  const name = formatOf(timeZone)
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  // `GMT` alone is UTC itself.
  const [, sign, hours, minutes, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name ?? '') ?? [undefined, '+', 0, 0];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
}

/** The first moment after the gap in which a wall time lies, in milliseconds; undefined for one that the clocks show. */
export function endOfGap(wall: number, timeZone: string): number | undefined {
  const [before, after] = [zoneOffset(wall - day, timeZone), zoneOffset(wall + day, timeZone)];
  if (after <= before) return undefined;
  let [low, high] = [wall - after, wall - before];
  // Within the gap, and only there, the one is before the change and the other after it.
  if (zoneOffset(low, timeZone) !== before || zoneOffset(high, timeZone) !== after) return undefined;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zoneOffset(middle, timeZone) === before) low = middle;
    else high = middle;
  }
  return high;
}

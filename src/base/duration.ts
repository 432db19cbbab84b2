/** Durations as people write them: `300ms`, `2s`, `1m30s`, `2h`, `7d`. */

const unitMilliseconds: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const whole = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** Milliseconds of a duration such as `1m30s`, or undefined when the text is not a duration. A bare `0` is accepted. */
export function parseDuration(text: string): number | undefined {
  const trimmedText = text.trim();
  if (trimmedText === '0') return 0;
  if (!whole.test(trimmedText)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmedText.matchAll(part)) total += Number(amount) * (unitMilliseconds[unit as string] as number);
  return Math.round(total);
}

/** A duration for people, in at most two units: `850ms`, `4s`, `1m 5s`, `2h 3m`, `3d 4h`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1_000) return `${ms}ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'm', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'm');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}

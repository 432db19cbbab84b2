import { expect, test } from 'vitest';
import { formatTime, relativeTime } from '../../src/terminal/relative-time.ts';

const now = Date.parse('2026-07-18T12:00:00Z');

test.each([
  [0, 'just now'],
  [4_999, 'just now'],
  [5_000, '5s ago'],
  [59_999, '59s ago'],
  [60_000, '1m ago'],
  [3_600_000, '1h ago'],
  [3 * 3_600_000 + 1, '3h ago'],
  [86_400_000, '1d ago'],
  [47 * 3_600_000, '1d ago'],
  [30 * 86_400_000, '30d ago'],
  [31 * 86_400_000, '2026-06-17'],
  [-90_000, 'in 1m'],
])('%d ms before now: %s', (before, expected) => {
  expect(relativeTime(new Date(now - before), now)).toBe(expected);
});

test.each([
  ['2026-07-18T11:57:00Z', '3m ago', '2026-07-18T11:57:00Z'],
  [now - 180_000, '3m ago', '2026-07-18T11:57:00.000Z'],
  [null, '', ''],
  [undefined, '', ''],
  ['not a date', 'not a date', 'not a date'],
])('formatTime(%j)', (value, onTerminal, inPipe) => {
  expect(formatTime(value, { now, tty: true })).toBe(onTerminal);
  expect(formatTime(value, { now, tty: false })).toBe(inPipe);
});

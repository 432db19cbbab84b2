import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/base/duration.ts';

describe('a duration', () => {
  it.each([
    ['300ms', 300],
    ['2s', 2_000],
    ['1.5s', 1_500],
    ['1m30s', 90_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    [' 5s ', 5_000],
    ['0', 0],
    ['0s', 0],
  ])('%j is %i ms', (text, milliseconds) => expect(parseDuration(text)).toBe(milliseconds));

  it.each(['', '5', '-5s', '5 s', '1m 30s', 's', '5S', '1e3s', '5s!', '.5s', '1,5s'])('%j is not a duration', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );

  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [59_999, '59s'],
    [65_000, '1m 5s'],
    [60_000, '1m'],
    [3_660_000, '1h 1m'],
    [90_000_000, '1d 1h'],
  ])('of %i ms is formatted as %j', (milliseconds, text) => expect(formatDuration(milliseconds)).toBe(text));

  it('can be parsed again, to the precision that is shown', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000_000), (milliseconds) => {
        const parsed = parseDuration(formatDuration(milliseconds).replace(' ', '')) as number;
        expect(parsed).toBeLessThanOrEqual(milliseconds);
        expect(formatDuration(parsed)).toBe(formatDuration(milliseconds));
      }),
      { seed: 5 },
    );
  });
});

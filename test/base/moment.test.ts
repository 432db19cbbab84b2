import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMoment } from '../../src/base/moment.ts';

const now = Date.parse('2026-07-18T09:00:00.000Z');
const local = (...parts: [number, number, number?, number?, number?, number?, number?]): number =>
  new Date(...(parts as [number, number])).getTime();

describe('a moment', () => {
  it.each([
    ['2026-07-01T09:30Z', Date.UTC(2026, 6, 1, 9, 30)],
    ['2026-07-01t09:30:15.25z', Date.UTC(2026, 6, 1, 9, 30, 15, 250)],
    ['2026-07-01T09:30:00+02:00', Date.UTC(2026, 6, 1, 7, 30)],
    ['2026-07-01 09:30 -0530', Date.UTC(2026, 6, 1, 15, 0)],
    ['2026-07-01T09:30', local(2026, 6, 1, 9, 30)],
    ['2026-07-01', local(2026, 6, 1)],
    ['2028-02-29', local(2028, 1, 29)],
    ['now', now],
    ['Today', local(2026, 6, new Date(now).getDate())],
    ['yesterday', local(2026, 6, new Date(now).getDate() - 1)],
    ['tomorrow', local(2026, 6, new Date(now).getDate() + 1)],
    ['2h', now - 7_200_000],
    ['30m', now - 1_800_000],
    ['1d12h ago', now - 129_600_000],
    [' 7d ', now - 604_800_000],
    ['in 90s', now + 90_000],
    ['0', now],
  ])('%j is understood', (text, expected) => {
    expect(parseMoment(text, now)).toBe(expected);
  });

  it.each([
    '',
    'soon',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-07-00',
    '2026-7-1',
    '2026-07-01T24:00Z',
    '2026-07-01T09Z',
    '2026-07-01T09:30+25:00',
    '2026-07-01Z',
    '01.07.2026',
    '2 h',
    'in 2h ago',
    '-2h',
    '1e9d',
    '999999999999d',
    '1752829200',
  ])('%j is not a moment', (text) => {
    expect(parseMoment(text, now)).toBeUndefined();
  });

  it('is parsed from ISO strings, and no text makes the parser throw', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }),
        (date) => {
          expect(parseMoment(date.toISOString(), now)).toBe(date.getTime());
        },
      ),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const moment = parseMoment(text, now);
        expect(moment === undefined || Number.isFinite(moment)).toBe(true);
      }),
    );
  });
});

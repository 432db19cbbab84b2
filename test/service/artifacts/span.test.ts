/** Periods as instants, and counts over time. */
import { describe, expect, it } from 'vitest';
import { series, spanOf } from '../../../src/service/artifacts/data/span.ts';
import type { Period } from '../../../src/service/artifacts/page.ts';
import { runPromptly } from '../../support/promptly.ts';

// A Wednesday.
const now = Date.parse('2026-07-15T13:30:00.000Z');

describe('a period', () => {
  it.each<[Period, string, string?]>([
    [{ kind: 'last', count: 1, unit: 'hour' }, '2026-07-15T13:00:00.000Z'],
    [{ kind: 'last', count: 24, unit: 'hour' }, '2026-07-14T14:00:00.000Z'],
    [{ kind: 'last', count: 1, unit: 'day' }, '2026-07-15T00:00:00.000Z'],
    [{ kind: 'last', count: 7, unit: 'day' }, '2026-07-09T00:00:00.000Z'],
    [{ kind: 'last', count: 2, unit: 'week' }, '2026-07-02T00:00:00.000Z'],
    [{ kind: 'last', count: 1, unit: 'month' }, '2026-06-16T00:00:00.000Z'],
    [{ kind: 'last', count: 9_999, unit: 'month' }, '1970-01-01T00:00:00.000Z'],
    [{ kind: 'this', unit: 'day' }, '2026-07-15T00:00:00.000Z'],
    [{ kind: 'this', unit: 'week' }, '2026-07-13T00:00:00.000Z'],
    [{ kind: 'this', unit: 'month' }, '2026-07-01T00:00:00.000Z'],
    [{ kind: 'this', unit: 'year' }, '2026-01-01T00:00:00.000Z'],
    [{ kind: 'since', date: '2026-05-01' }, '2026-05-01T00:00:00.000Z'],
    [{ kind: 'yesterday' }, '2026-07-14T00:00:00.000Z', '2026-07-15T00:00:00.000Z'],
  ])('%j', (period, since, until) => {
    expect(spanOf(period, now)).toEqual({ since, ...(until === undefined ? {} : { until }) });
  });

  it('of months begins with the last day of shorter months', () => {
    expect(spanOf({ kind: 'last', count: 1, unit: 'month' }, Date.parse('2026-03-31T08:00:00Z'))).toEqual({
      since: '2026-03-01T00:00:00.000Z',
    });
  });
});

describe('counts over time', () => {
  const labels = (points: { label: string }[]) => points.map(({ label }) => label);

  it('include every day of the period, even empty ones', () => {
    const points = series('day', new Map([['2026-07-14', 3]]), spanOf({ kind: 'last', count: 3, unit: 'day' }, now), now);
    expect(points).toEqual([
      { label: '2026-07-13', value: 0 },
      { label: '2026-07-14', value: 3 },
      { label: '2026-07-15', value: 0 },
    ]);
  });

  it('begin with the first count without a period, and are empty without counts', () => {
    expect(labels(series('day', new Map([['2026-07-13', 1]]), {}, now))).toEqual(['2026-07-13', '2026-07-14', '2026-07-15']);
    expect(series('day', new Map(), {}, now)).toEqual([]);
  });

  it('are summed up to weeks that begin on Monday', () => {
    const counts = new Map([
      ['2026-07-05', 1],
      ['2026-07-06', 2],
      ['2026-07-12', 4],
      ['2026-07-13', 8],
    ]);
    expect(series('week', counts, {}, now)).toEqual([
      { label: '2026-06-29', value: 1 },
      { label: '2026-07-06', value: 6 },
      { label: '2026-07-13', value: 8 },
    ]);
  });

  it('cover hours and months, and end with yesterday if requested', () => {
    expect(labels(series('hour', new Map(), spanOf({ kind: 'last', count: 2, unit: 'hour' }, now), now))).toEqual([
      '2026-07-15T12',
      '2026-07-15T13',
    ]);
    expect(labels(series('month', new Map([['2026-05', 1]]), {}, now))).toEqual(['2026-05', '2026-06', '2026-07']);
    expect(labels(series('day', new Map(), spanOf({ kind: 'yesterday' }, now), now))).toEqual(['2026-07-14']);
  });

  it('are limited to the latest ones', () => {
    const points = series('hour', new Map([['2020-01-01T00', 1]]), {}, now);
    expect(points).toHaveLength(400);
    expect(points.at(-1)?.label).toBe('2026-07-15T13');
  });

  it('take no longer for a period that began long ago', async () => {
    const span = spanOf({ kind: 'since', date: '0001-01-01' }, now);
    for (const field of ['hour', 'day', 'week', 'month'] as const) {
      const points = await runPromptly(() => series(field, new Map(), span, now), 1_000);
      expect(points).toHaveLength(400);
      expect(new Set(labels(points)).size).toBe(400);
    }
  });
});

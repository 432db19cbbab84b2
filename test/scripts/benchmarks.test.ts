/** The figures that the README shows are those of the results. */
import { describe, expect, it } from 'vitest';
import { type Results, summary, withFigures } from '../../scripts/generate/benchmarks.ts';

const row = (name: string, ratio: number, goal: number) => ({ name, ratio, goal });

const results: Results = {
  'start-up': { results: [row('aops --version', 1.2, 1.1), row('aops runs list', 2.3, 2.3)] },
  listing: { time: { ratio: 1.149, goal: 1.15 } },
  transfers: { results: [row('push 5000 files of 2 KiB', 2.1, 2), row('pull 5000 files of 2 KiB', 0.89, 1.3)] },
  service: {
    requests: [row('get a run', 1.2, 1.25), row('create an agent, keyed', 1.504, 1.5), row('complete a run of one step', 2.5, 3)],
    page: { ratio: 2, goal: 2 },
  },
  watching: { results: { streamed: { p50_ms: 4, goal: 20 }, polled: { p50_ms: 301, goal: 300 } } },
  turns: { turns: [row('3 s of work, 200 updates', 1.02, 1.05)] },
  waiting: { waiting: { mib_per_run: 0.04, goal: 1 } },
};

describe('the table of the README', () => {
  it('shows each figure next to its goal, and says which goals were missed', () => {
    const rows = summary(results).split('\n').slice(2);
    // Without the labels.
    const cells = rows.map((row) =>
      row
        .split('|')
        .slice(2, 4)
        .map((cell) => cell.trim())
        .join(' | '),
    );
    expect(cells).toEqual([
      '1.20x | 1.1x, missed',
      '2.30x | 2.3x',
      '1.15x | 1.15x',
      '2.10x | 2x, missed',
      '0.89x | 1.3x',
      '1.20x | 1.25x',
      '2.00x | 2x',
      '1.50x | 1.5x, missed',
      '2.50x | 3x',
      '4 ms | 20 ms',
      '301 ms | 300 ms, missed',
      '1.02x | 1.05x',
      '0.04 MiB | 1 MiB',
    ]);
  });

  it('cannot be written without a result', () => {
    expect(() => summary({ ...results, turns: { turns: [] } })).toThrow('does not contain "3 s of work"');
  });
});

describe('a page with figures', () => {
  const page = (figures: string): string =>
    `Before\n<!-- Written by \`npm run generate\` from bench/results.json. -->\n\n${figures}\n\n<!-- End of the figures. -->\nAfter`;

  it('keeps everything but the figures', () => {
    expect(withFigures(page('old'), 'new')).toBe(page('new'));
  });

  it('needs both comments, in their order', () => {
    const [begin, end] = page('').split('\n\n\n\n') as [string, string];
    for (const text of [begin, end, `${end}${begin}`]) expect(() => withFigures(text, 'new')).toThrow('does not contain');
  });
});

import { describe, expect, it } from 'vitest';
import { type Bar, renderBars, usedShare } from '../../src/terminal/bars.ts';
import type { View } from '../../src/terminal/cell.ts';
import { loadStyles, resolveMarkup } from '../../src/terminal/style.ts';

const view = (width: number, overrides: Partial<View> = {}): View => ({ tty: true, width, now: 0, ...overrides });
const bars: Bar[] = [
  { label: 'Agent runs', used: 37, limit: 100 },
  { label: 'Assignments', used: 3, limit: undefined },
  { label: 'Concurrency', used: 8, limit: 8 },
];

describe('bars', () => {
  it('are aligned in columns on a wide terminal', async () => {
    expect(await renderBars(bars, view(80))).toBe(
      `Agent runs   [##############........................]  37 of 100  63 left
Assignments                                                    3  unlimited
Concurrency  [######################################]     8 of 8  0 left
`,
    );
    expect(await renderBars(bars, view(60, { unicode: true }))).toBe(
      `Agent runs   █████████░░░░░░░░░░░░░░░░  37 of 100  63 left
Assignments                                     3  unlimited
Concurrency  █████████████████████████     8 of 8  0 left
`,
    );
  });

  it('are drawn below their figures on a narrow terminal', async () => {
    expect(await renderBars(bars.slice(0, 2), view(40))).toBe(
      `Agent runs
  37 of 100, 63 left
  [#############.......................]
Assignments
  3, unlimited
`,
    );
  });

  it.each([20, 40, 59, 60, 80, 120, 200])('fit %i columns', async (width) => {
    const longBars = [...bars, { label: 'Clarity interviews', used: 999_999, limit: 1_000_000 }];
    for (const line of (await renderBars(longBars, view(width))).trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(width);
  });

  it('show any usage, and are full only when nothing remains', async () => {
    const drawBar = async (used: number, limit: number) =>
      (await renderBars([{ label: 'x', used, limit }], view(80))).match(/\[(#*)(\.*)\]/);
    expect((await drawBar(1, 1_000))?.[1]).toHaveLength(1);
    expect((await drawBar(999, 1_000))?.[2]).toHaveLength(1);
    expect((await drawBar(0, 0))?.[1]).toBe('');
    expect((await drawBar(7, 5))?.[2]).toBe('');
  });

  it('are coloured by the share of the limit that is used', async () => {
    const styles = await loadStyles(true);
    const colours = async (used: number) =>
      resolveMarkup(await renderBars([{ label: 'x', used, limit: 10 }], view(80, { styles })))
        .split('m#')[0]
        ?.slice(-2);
    expect([await colours(5), await colours(8), await colours(10)]).toEqual(['32', '33', '31']);
  });

  it('have bold labels on a narrow terminal, and dim figures on a wide one', async () => {
    const styles = await loadStyles(true);
    const drawLine = async (width: number) =>
      resolveMarkup(await renderBars([{ label: 'x', used: 5, limit: 10 }], view(width, { styles }))).replaceAll('\u001b', '^');
    expect(await drawLine(10)).toBe('^[1mx^[22m\n  5 of 10…\n  [^[32m###^[39m^[2m...^[22m]\n');
    expect(await drawLine(60)).toMatch(/^x {2}\[\^\[32m#+\^\[39m\^\[2m\.+\^\[22m\] {2}5 of 10 {2}\^\[2m5 left\^\[22m\n$/);
  });

  it('are plain figures off a terminal', async () => {
    expect(await renderBars(bars, { tty: false, width: 40, now: 0 })).toBe(
      'Agent runs\t37\t100\t63\nAssignments\t3\tunlimited\tunlimited\nConcurrency\t8\t8\t0\n',
    );
  });

  it('compute the share of a limit of zero', () => {
    expect(usedShare({ used: 0, limit: 0 })).toBe(0);
    expect(usedShare({ used: 1, limit: 0 })).toBe(Number.POSITIVE_INFINITY);
    expect(usedShare({ used: 1, limit: undefined })).toBeUndefined();
  });
});

/** The width of texts of any length. */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { truncate, widthFor, wrapWords } from '../../src/terminal/width.ts';

const widthOf = await widthFor(['ä']);

describe('a text that is too wide', () => {
  it.each([
    [3, 'abc'],
    [2, 'a…'],
    [1, '…'],
    [0, ''],
  ])('is truncated to %i columns', (width, text) => {
    expect(truncate('abc', width, widthOf)).toBe(text);
  });

  it('is never truncated within a character', () => {
    expect(truncate('你好吗', 5, widthOf)).toBe('你好…');
    expect(truncate('你好吗', 4, widthOf)).toBe('你…');
    expect(truncate('e\u0301e\u0301e\u0301', 2, widthOf)).toBe('e\u0301…');
  });

  it.each<[string, number, string[]]>([
    ['abc de', 6, ['abc de']],
    ['abc de fgh', 6, ['abc de', 'fgh']],
    ['abc de fgh', 5, ['abc', 'de', 'fgh']],
    ['abcdefghij k', 5, ['abcdefghij', 'k']],
    ['  abcdefghij k', 5, ['  abcdefghij', '  k']],
    ['a  b cdefg', 5, ['a  b', 'cdefg']],
    ['你好你好你', 4, ['你好', '你好', '你']],
    ['你好你好你', 5, ['你好', '你好', '你']],
    ['你好', 1, ['你', '好']],
    ['ab 你好你好 cd', 4, ['ab', '你好', '你好', 'cd']],
  ])('is wrapped: %j in %i columns', (line, width, lines) => {
    expect(wrapWords(line, width, widthOf)).toEqual(lines);
  });
});

describe('the width of a long text', () => {
  it('is the sum of the widths of its characters, wherever they are', () => {
    const unit = fc.constantFrom('a', ' ', 'e\u0301', '你', '🙂', '👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', '\u200d');
    fc.assert(
      fc.property(fc.array(unit, { minLength: 400, maxLength: 1_200 }), (units) => {
        const text = units.join('');
        expect(widthOf(text)).toBe(stringWidth(text));
      }),
      { numRuns: 20 },
    );
  });

  it.each([
    ['CJK', '你好世界 '.repeat(20_000)],
    ['CJK without spaces', '你好世界'.repeat(20_000)],
    ['emoji', 'word 👨‍👩‍👧‍👦 '.repeat(8_000)],
    ['one word', `ä${'x'.repeat(100_000)}`],
  ])('is measured and wrapped in time proportional to its length: %s', { timeout: 60_000 }, (_, text) => {
    let lines: string[] = [];
    const took = cpuTimeOf(() => {
      lines = wrapWords(text, 74, widthOf);
    });
    // The floor measures the same text once, in pieces. Measuring all of it at a time takes more than 50 times as long.
    const floor = cpuTimeOf(() => {
      for (let start = 0; start < text.length; start += 500) stringWidth(text.slice(start, start + 500));
    });
    expect(took / floor).toBeLessThan(20);
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
    if (lines.length > 1) expect(Math.max(...lines.slice(0, 50).map(widthOf))).toBeLessThanOrEqual(74);
  });
});

/** The time of the processors that this process used for the work, in microseconds. Other processes do not count. */
function cpuTimeOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

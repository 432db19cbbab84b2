/** The width of texts of any length. */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { widthFor, wrapWords } from '../../src/terminal/width.ts';
import { runPromptly } from '../support/promptly.ts';

const widthOf = await widthFor(['ä']);

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
    // The test measures its own time, without that of other processes.
  ])('is measured quickly, and the text is wrapped: %s', { timeout: 60_000 }, async (_, text) => {
    const lines = await runPromptly(() => wrapWords(text, 74, widthOf), 2_000);
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
    if (lines.length > 1) expect(Math.max(...lines.slice(0, 50).map(widthOf))).toBeLessThanOrEqual(74);
  });
});

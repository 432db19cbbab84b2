import { expect, it } from 'vitest';
import { skippedSummary } from './skipped-tests.ts';

it('counts skipped tests by reason, the most frequent first, and names those without one', () => {
  const zsh = 'completion.test.ts > zsh [skipped: zsh is not installed]';
  const page = 'page.test.ts > the team page [skipped: Chromium is not installed]';
  expect(skippedSummary([`${zsh} > completes`, `${page} > signs in`, `${page} > lists runs`, 'a > forgotten'])).toEqual([
    'Skipped: 4 tests',
    '  2  Chromium is not installed',
    '  1  zsh is not installed',
    '  1  no reason: a > forgotten',
  ]);
  expect(skippedSummary([])).toEqual(['Skipped: 0 tests']);
});

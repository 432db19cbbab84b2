/** The parts of a patch of git, and how people see them. */
import { expect, it } from 'vitest';
import { patchParts, shownPart } from '../../../src/cli/run-record/patch-parts.ts';

const id = (digit: string): string => digit.repeat(40);
const head = (name: string): string => `diff --git a/${name} b/${name}\nindex ${id('1')}..${id('2')} 100644\n`;
const shownHead = (name: string): string => `diff --git a/${name} b/${name}\nindex 1111111..2222222 100644\n`;
const text = `${head('a.txt')}--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-diff --git a/x b/x\n+b\n`;
const binary = `${head('b.bin')}GIT binary patch\nliteral 1\nIcmZ\n\n`;
const changed = { path: 'a.txt', size_before: 1, size_after: 3, lines_added: 1 };

it('are one for each file, whatever the files contain', () => {
  expect(patchParts(text + binary)).toEqual([text, binary]);
  expect(patchParts('')).toEqual([]);
});

it.each<[string, Parameters<typeof shownPart>, string]>([
  ['a text', [changed, text], `${shownHead('a.txt')}${text.slice(head('a.txt').length)}`],
  ['a binary file', [{ ...changed, lines_added: null }, binary], `${shownHead('b.bin')}Binary file (1 B to 3 B)\n`],
  [
    'a new binary file',
    [{ ...changed, size_before: null, lines_added: null }, binary],
    `${shownHead('b.bin')}Binary file (nothing to 3 B)\n`,
  ],
  ['a file without its part', [changed, undefined], 'diff --git a.txt\nDiffers (1 B to 3 B)\n'],
  ['a part of the maximum length', [changed, '@@ -1 +1 @@\n', 12], '@@ -1 +1 @@\n'],
  ['a part above the maximum length', [changed, text, 100], `${shownHead('a.txt')}Differs (1 B to 3 B)\n`],
  [
    'a file of which only the mode was changed, as a binary file',
    [{ ...changed, lines_added: null }, 'diff --git a/a b/a\nold mode 100644\nnew mode 100755\n'],
    'diff --git a/a b/a\nold mode 100644\nnew mode 100755\nBinary file (1 B to 3 B)\n',
  ],
])('shows %s', (_, args, expected) => {
  expect(shownPart(...args)).toBe(expected);
});

import { stripVTControlCharacters } from 'node:util';
import { applyPatch } from 'diff';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderDiff, renderPatch } from '../../src/terminal/diff.ts';
import { loadStyles, resolveMarkup } from '../../src/terminal/style.ts';
import { hostileInput } from './fake-streams.ts';

const names = { beforeName: 'a/procedure.yaml', afterName: 'b/procedure.yaml' };
const diff = (before: string, after: string): Promise<string> => renderDiff({ ...names, before, after }, {});

const before = `version: 1
steps:
  - say: one
  - say: two
  - say: three
  - say: four
  - say: five
  - say: six
  - say: seven
  - say: eight
  - say: nine
`;

describe('a unified diff', () => {
  test('shows each change with three lines of context', async () => {
    const after = before.replace('- say: two', '- say: 2').replace('  - say: nine\n', '  - say: nine\n  - fail: over\n');
    expect(await diff(before, after)).toBe(`--- a/procedure.yaml
+++ b/procedure.yaml
@@ -1,7 +1,7 @@
 version: 1
 steps:
   - say: one
-  - say: two
+  - say: 2
   - say: three
   - say: four
   - say: five
@@ -9,3 +9,4 @@
   - say: seven
   - say: eight
   - say: nine
+  - fail: over
`);
  });

  test('is empty for equal texts, and handles changes at the beginning and end', async () => {
    expect(await diff(before, before)).toBe('');
    expect(await diff('', 'one\n')).toContain('@@ -0,0 +1 @@\n+one\n');
    expect(await diff('one\n', '')).toContain('@@ -1 +0,0 @@\n-one\n');
    expect(await diff('one', 'one\n')).toContain('-one\n\\ No newline at end of file\n+one\n');
  });

  test('colours added and removed lines', async () => {
    const text = await renderDiff({ ...names, before: 'a\nb\n', after: 'a\nc\n' }, { styles: await loadStyles(true) });
    expect(resolveMarkup(text).replaceAll('\u001b', '^')).toBe(
      '^[1m--- a/procedure.yaml^[22m\n^[1m+++ b/procedure.yaml^[22m\n^[36m@@ -1,2 +1,2 @@^[39m\n a\n^[31m-b^[39m\n^[32m+c^[39m\n',
    );
  });

  test('shows the headers of each file of a patch in bold', async () => {
    const file = (name: string) => `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-1\n+2\n`;
    const text = resolveMarkup(renderPatch(`${file('x')}${file('y')}`, { styles: await loadStyles(true) }));
    const bold = text.split('\n').filter((line) => line.startsWith('\u001b[1m'));
    expect(bold.map((line) => stripVTControlCharacters(line))).toEqual(['x', 'y'].flatMap((name) => file(name).split('\n').slice(0, 3)));
  });

  test('dims the mark of a missing line end', async () => {
    const text = await renderDiff({ ...names, before: 'a', after: 'a\n' }, { styles: await loadStyles(true) });
    expect(resolveMarkup(text)).toContain('\u001b[2m\\ No newline at end of file\u001b[22m');
  });

  test('cannot steer a terminal', async () => {
    const text = await renderDiff({ before: '', after: `${hostileInput}\t\r\n`, beforeName: hostileInput, afterName: 'b\n+c' }, {});
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about control characters
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(text).toContain('\t');
    expect(text.split('\n')[1]).toBe('+++ b\\n+c');
  });

  test('can be applied as a patch, whatever the texts are', async () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', '', ' - say: x', '\\', '+', '---'), { maxLength: 12 })
      .chain((lines) => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`));
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        const patch = await diff(before, after);
        if (before === after) expect(patch).toBe('');
        else expect(applyPatch(before, patch)).toBe(after);
      }),
    );
  });

  test('replaces everything if the texts have too little in common', async () => {
    const lines = (word: string, end: string): string => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join('\n') + end;
    const [before, after] = [lines('a', '\n'), lines('b', '')];
    const patch = await diff(before, after);
    expect(patch).toContain('@@ -1,3000 +1,3000 @@\n-a 0\n');
    expect(applyPatch(before, patch)).toBe(after);
    for (const text of [before, after]) {
      expect(applyPatch('', await diff('', text))).toBe(text);
      expect(applyPatch(text, await diff(text, ''))).toBe('');
    }
    expect(await diff('', before)).toContain('@@ -0,0 +1,3000 @@\n+a 0\n');
  });
});

/** Quoted texts within requests. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mark, maskQuotes, type Quote, quoteAt, unmask, withoutMarks } from '../../../src/service/words/quotes.ts';

function mask(text: string, opening?: string[]) {
  const quotes: Quote[] = [];
  return { words: maskQuotes(text, quotes, opening), quotes };
}
const textsIn = (text: string): string[] => mask(text).quotes.map((quote) => quote.text);

it.each<[string, string[]]>([
  ['say "Hello" and \u201cBye\u201d', ['Hello', 'Bye']],
  ['say "a \\"b\\" c"', ['a "b" c']],
  ['say "one\\ntwo"', ['one\ntwo']],
  ['say "one\ntwo"', ['one\ntwo']],
  ["say 'it's here' twice", ["it's here"]],
  ["don't say anything, won't you", []],
  ['add {say: {a: b}} here', ['{say: {a: b}}']],
  ['say "never closed', []],
  ["say 'never closed\nsay 'x'", ['x']],
])('finds the quoted texts of %j', (text, texts) => {
  expect(textsIn(text)).toEqual(texts);
});

it('distinguishes YAML from text', () => {
  expect(mask('`say: x` {say: y} "z"').quotes.map(({ code }) => code)).toEqual([true, true, false]);
});

it('masks only the quotes that the caller names', () => {
  expect(mask(`'a' "b" {c}`, ['"'])).toMatchObject({ words: `'a' ${mark(0)} {c}`, quotes: [{ text: 'b' }] });
});

it('restores a masked text, whatever it consists of', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', "'", '`', '{', '}', '\\', 'a', ' ', '\n', '\u201c', '\u201d', '1') }), (text) => {
      const { words, quotes } = mask(text);
      expect(unmask(words, quotes, true)).toBe(text);
    }),
  );
});

it('finds the quote of a single mark, and none in other words', () => {
  const { words, quotes } = mask('"x"');
  expect(quoteAt(words, quotes)?.text).toBe('x');
  expect(quoteAt(`${words} y`, quotes)).toBeUndefined();
});

it('does not let a request contain marks of its own', () => {
  expect(withoutMarks(`say ${mark(0)}`)).toBe('say 0');
});

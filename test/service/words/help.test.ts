/** What is said when a request is not understood, and words for positions. */
import { expect, it } from 'vitest';
import { notUnderstood } from '../../../src/service/words/help.ts';
import { ordinalPattern, positionOf } from '../../../src/service/words/ordinals.ts';

const grammar = { reader: 'The builder', phrases: ['say "TEXT"', 'wait 5m'] };

it('quotes what was not understood and lists what would have been', () => {
  expect(notUnderstood(grammar, [{ text: 'dance' }, { text: 'sing' }], 'Did you mean "say"?')).toBe(
    'Not understood: "dance", "sing". Did you mean "say"? The builder understands:\n- say "TEXT"\n- wait 5m',
  );
  expect(notUnderstood(grammar, [])).toMatch(/^The request is empty\. The builder understands:/);
});

it('quotes the beginning of the first three statements', () => {
  const text = notUnderstood(
    grammar,
    ['x'.repeat(90), 'b', 'c', 'd'].map((word) => ({ text: word })),
  );
  expect(text.split('. ')[0]).toBe(`Not understood: "${'x'.repeat(79)}…", "b", "c"`);
});

it.each<[string, number]>([
  ['first', 1],
  ['tenth', 10],
  ['3rd', 3],
  ['last', -1],
  ['final', -1],
])('reads the position %s', (word, position) => {
  expect(word).toMatch(new RegExp(`^${ordinalPattern}$`));
  expect(positionOf(word)).toBe(position);
});

/** The mutants of mutation testing: which changes are made, and that a switch turns on exactly one of them. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import equivalents from '../../scripts/mutate/equivalent.json' with { type: 'json' };
import { instrument, mutantsOf } from '../../scripts/mutate/mutants.js';

const changes = (source: string): string[] => mutantsOf(source).map(({ original, replacement }) => `${original} -> ${replacement}`);

/** What the source leaves in `result` while a mutant is active. */
function run(source: string, active: number, values: Record<string, unknown> = {}): unknown {
  const code = instrument(source, mutantsOf(source), 0);
  const names = Object.keys(values);
  return new Function('__aopsMutant', ...names, `let result; ${code}; return result;`)(
    (number: number) => number === active,
    ...Object.values(values),
  );
}

describe('the mutants of a source', () => {
  it.each([
    ['if (a) b();', ['a -> true', 'a -> false', 'b(); -> ']],
    ['while (a) b;', ['a -> false', 'b; -> ']],
    ['c = a && b;', ['c = a && b; -> ', 'a && b -> a', 'a && b -> b']],
    ['c = a ?? b;', ['c = a ?? b; -> ', 'a ?? b -> a', 'a ?? b -> b']],
    ['const c = a < b;', ['a < b -> a <= b']],
    ['const c = a !== b;', ['a !== b -> a === b']],
    ['const c = a - 1;', ['a - 1 -> a + 1']],
    [
      'const c = (a || b) - (c ?? d);',
      ['(a || b) - (c ?? d) -> (a || b) + (c ?? d)', 'a || b -> a', 'a || b -> b', 'c ?? d -> c', 'c ?? d -> d'],
    ],
    ["const c = a + 'x' + 1;", []],
    ['const c = !a;', ['!a -> a']],
    ['const c = true;', ['true -> false']],
    ['const c = sanitize(a);', ['sanitize(a) -> a']],
    ['const c = a.some(b);', ['a.some(b) -> a.every(b)']],
    ['function f() { throw a; }', ['throw a; -> ']],
    ['for (;;) { continue; }', ['continue; -> ']],
    ['function f() { return; }', ['return; -> ']],
    ['type A = { b: true } & (C extends true ? 1 : 2); const c: A | false = d as true;', []],
    ["import a from 'b'; export const c = { d: 1 };", []],
  ])('%s', (source, expected) => {
    expect(changes(source)).toEqual(expected);
  });

  it('are found at their lines, also after characters of two code units', () => {
    expect(mutantsOf("// 🎉\nconst a = '🎉';\nconst b = !a;")).toMatchObject([{ line: 3, original: '!a', replacement: 'a' }]);
  });
});

describe('a mutant', () => {
  it('is at the top level if it acts while the module is loaded', () => {
    const source = 'const a = !b; class C { static d = !e; f = !g; } const h = () => !i; function j() { return !k; }';
    expect(mutantsOf(source).map(({ original, isTopLevel }) => [original, isTopLevel])).toEqual([
      ['!b', true],
      ['!e', true],
      ['!g', false],
      ['!i', false],
      ['!k', false],
    ]);
  });
});

describe('an instrumented source', () => {
  it('does what the source does while no mutant is active', () => {
    expect(run('result = a && !b ? [1].some((one) => one < 2) : 3;', -1, { a: true, b: false })).toBe(true);
  });

  it('does what one mutant says while that is active, also inside another', () => {
    const source = 'result = a && !b;';
    const outcomes = mutantsOf(source).map((_, number) => run(source, number, { a: true, b: true }));
    expect(changes(source)).toEqual(['result = a && !b; -> ', 'a && !b -> a', 'a && !b -> !b', '!b -> b']);
    expect(outcomes).toEqual([undefined, true, false, true]);
  });

  it('leaves an else with the if that it belongs to', () => {
    const source = 'if (a) result = 1; else result = 2;';
    const mutantIndex = mutantsOf(source).findIndex(({ original, replacement }) => original === 'result = 1;' && replacement === '');
    expect(run(source, mutantIndex, { a: true })).toBeUndefined();
    expect(run(source, -1, { a: false })).toBe(2);
  });
});

describe('the equivalent mutants', () => {
  it('are mutants of the source', () => {
    expect(equivalents.length).toBeGreaterThan(100);
    const keyOf = (mutant: { file: string; code: string; original: string; replacement: string }): string =>
      JSON.stringify([mutant.file, mutant.code, mutant.original, mutant.replacement]);
    const found = new Set<string>();
    for (const file of new Set(equivalents.map((equivalent) => equivalent.file))) {
      const source = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const lines = source.split('\n');
      for (const mutant of mutantsOf(source)) found.add(keyOf({ ...mutant, file, code: lines[mutant.line - 1]?.trim() ?? '' }));
    }
    const missing = equivalents.filter((equivalent) => !found.has(keyOf(equivalent)));
    expect(missing).toEqual([]);
  });
});

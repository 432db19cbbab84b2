import { describe, expect, it } from 'vitest';
import { checkNames, safeParts, treeLimits, unusableNames } from '../../../src/client/transfers/local-names.ts';

/** No disk distinguishes these names, or every disk does. */
const [never, always] = [() => false, () => true];
const unsafe = expect.objectContaining({ code: 'unsafe_name' }) as Error;

describe('a name from the service', () => {
  it.each([
    ['a', ['a']],
    ['a/b c/d.txt', ['a', 'b c', 'd.txt']],
    ['./a//b', ['a', 'b']],
    ['.hidden', ['.hidden']],
    ['...a', ['...a']],
    ['console', ['console']],
    ['コンソール', ['コンソール']],
  ])('%j is safe everywhere', (name, parts) => {
    for (const platform of ['linux', 'darwin', 'win32'] as const) expect(safeParts(name, platform)).toEqual(parts);
  });

  it.each(['', '.', '/', '/etc/passwd', '..', '../x', 'a/../b', 'a/..'])('%j is rejected, with all others', (name) => {
    for (const platform of ['linux', 'win32'] as const) {
      expect(() => safeParts(name, platform)).toThrow(unsafe);
      expect(() => unusableNames(['a', name], always, platform)).toThrow(unsafe);
    }
    expect(() => checkNames(['a', name])).toThrow(unsafe);
  });

  it.each([
    'a\0b',
    'a\nb',
    'a\x1b[0m',
    'a\x9b0m',
    '\ud800',
    `${'é'.repeat(128)}`,
    `a/${'é'.repeat(128)}`,
    `${'long/'.repeat(61)}${'x'.repeat(3_000)}`,
    `${'d/'.repeat(treeLimits.depth + 1)}x`,
  ])('%j cannot be used', (name) => {
    for (const platform of ['linux', 'win32'] as const) {
      expect(() => safeParts(name, platform)).toThrow(unsafe);
      expect(unusableNames(['a', name], always, platform)).toEqual([{ name, reason: expect.any(String) as string }]);
    }
  });

  it.each([
    '12:30 log',
    'a\\b',
    '..\\x',
    '\\\\host\\share',
    'C:/x',
    'c:x',
    'con',
    'CON.txt',
    'con .txt',
    'CONIN$',
    'a/nul',
    'nul:',
    'com1',
    'com¹',
    'LPT9.log',
    'aux.c',
    'a.',
    'a ',
    'a./b',
    'what?',
    'a|b',
  ])('%j cannot be used on Windows', (name) => {
    expect(() => safeParts(name, 'win32')).toThrow('Windows does not allow it');
    expect(unusableNames(['other', name], always, 'win32')).toEqual([{ name, reason: 'Windows does not allow it' }]);
    expect(safeParts(name, 'linux').join('/')).toBe(name);
    expect(unusableNames(['other', name], always, 'linux')).toEqual([]);
  });
});

describe('a name that leads out of its folder', () => {
  it('is reported as such', () => {
    expect(() => safeParts('a/../../x')).toThrow('it leads out of the folder');
  });
});

describe('the longest names', () => {
  it('are safe', () => {
    const [longest, deepest] = [`${'long/'.repeat(599)}12345`, `${'d/'.repeat(treeLimits.depth)}x`];
    expect([longest.length, safeParts('n'.repeat(255))]).toEqual([3_000, ['n'.repeat(255)]]);
    // It is rejected, but only because of its folders.
    expect(() => safeParts(longest)).toThrow(`more than ${treeLimits.depth} folders deep`);
    expect(() => safeParts(`${longest}6`)).toThrow('longer than 3000 bytes');
    expect(safeParts(deepest)).toHaveLength(treeLimits.depth + 1);
  });

  it.each([
    [300, 0],
    [301, 1],
  ])('of %i characters are cut off in messages if necessary', (length, cut) => {
    const name = `${'x'.repeat(length - 1)}\n`;
    const displayName = cut === 0 ? JSON.stringify(name) : JSON.stringify(`${name.slice(0, 300)}...`);
    expect(() => safeParts(name)).toThrow(`The service names a file ${displayName}, which is not safe to write`);
  });
});

describe('names side by side', () => {
  it.each([
    ['the same twice', 'a', 'a'],
    ['the same, written differently', 'a', './a'],
    ['letters of another size', 'Readme', 'README'],
    ['letters of another size in other alphabets', 'ПРИВЕТ', 'привет'],
    ['one letter for two', 'straße', 'STRASSE'],
    ['a sign composed and decomposed', 'caf\u00e9', 'cafe\u0301'],
    ['the kelvin sign', '\u212a', 'k'],
    ['a sign nobody sees', '.git', '.g\u200cit'],
    ['a folder of another size', 'Data/a', 'data/b'],
    ['a file and a folder', 'a', 'a/b'],
    ['a folder and a file', 'x/a/b', 'x/A'],
  ])('clash: %s', (_, firstName, otherName) => {
    for (const names of [
      [firstName, otherName],
      [otherName, firstName],
    ])
      expect(() => checkNames(names)).toThrow(expect.objectContaining({ code: 'clashing_names' }));
  });

  it.each([
    ['Readme', 'README'],
    ['caf\u00e9', 'cafe\u0301'],
    ['x/Data', 'x/data'],
  ])('are all used if the disk distinguishes %j and %j, and only the first otherwise', (name, otherName) => {
    expect(unusableNames(['a', name, otherName], always)).toEqual([]);
    expect(unusableNames(['a', name, otherName], never)).toEqual([
      { name: otherName, reason: `it is the same as ${JSON.stringify(name)} on this disk` },
    ]);
  });

  it('lose what is in a folder that is the same as another one', () => {
    const names = ['Data/a', 'data/b', 'data/c/d', 'Data/e', 'DATA'];
    const reason = 'it is the same as "Data" on this disk';
    expect(unusableNames(names, never)).toEqual(['data/b', 'data/c/d', 'DATA'].map((name) => ({ name, reason })));
    expect(unusableNames(names, always)).toEqual([]);
  });

  it('are compared by those parts that differ', () => {
    const asked: string[] = [];
    unusableNames(['x/A/same/B', 'x/a/same/b'], (...parts) => asked.push(parts.join(' ')) > 0);
    expect(new Set(asked)).toEqual(new Set(['A a']));
  });

  it.each([
    ['a', './a'],
    ['a', 'a/b'],
    ['a/b', 'a'],
  ])('are no sandbox if they are %j and %j', (...names) => {
    expect(() => unusableNames(names, always)).toThrow(expect.objectContaining({ code: 'clashing_names' }));
  });

  it('are named in the error', () => {
    expect(() => checkNames(['a', './a'])).toThrow('The service names "a" twice, which');
    expect(() => checkNames(['a', 'A'])).toThrow('The service names "a" and "A", which');
  });

  it('can be similar', () => {
    checkNames(['a/b', 'a/c', 'a b', 'ab', 'a-b', 'c', 'b/a', 'straße', 'strase']);
  });

  it('do not exceed the limit', () => {
    const names = Array.from({ length: treeLimits.files }, (_, index) => `f/${index}`);
    checkNames(names);
    for (const check of [checkNames, (all: string[]) => unusableNames(all, always)])
      expect(() => check([...names, 'one more'])).toThrow(expect.objectContaining({ code: 'too_many_files' }));
  });
});

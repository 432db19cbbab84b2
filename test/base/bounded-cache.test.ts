import { expect, it } from 'vitest';
import { BoundedCache } from '../../src/base/bounded-cache.ts';

it('forgets what was used longest ago when it is full', () => {
  const cache = new BoundedCache<number>(2);
  cache.set('a', 1);
  cache.set('b', 2);
  expect(cache.get('a')).toBe(1);
  cache.set('c', 3);
  expect(['a', 'b', 'c'].map((key) => [cache.has(key), cache.get(key)])).toEqual([
    [true, 1],
    [false, undefined],
    [true, 3],
  ]);
});

it('measures its entries, and does not keep one that is too large', () => {
  const cache = new BoundedCache<string>(4, (key, value) => key.length + value.length);
  cache.set('a', '1');
  cache.set('b', '2');
  cache.set('c', '34');
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, undefined, '34']);
  cache.set('d', '12345');
  expect(['c', 'd'].map((key) => cache.get(key))).toEqual([undefined, undefined]);
});

it('has room again after an entry was deleted', () => {
  const cache = new BoundedCache<number>(2);
  cache.set('a', 1);
  cache.set('b', 2);
  cache.delete('a');
  cache.delete('unknown');
  cache.set('c', 3);
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([undefined, 2, 3]);
});

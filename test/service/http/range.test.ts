/** Conditional requests, ranges, and the names of downloads (RFC 9110, RFC 6266). */
import { describe, expect, it } from 'vitest';
import { contentDisposition, isNotModified, requestedRange } from '../../../src/service/http/range.ts';

describe('the requested range', () => {
  const file = { size: 10, etag: '"e"' };

  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=3-3', { start: 3, end: 3 }],
    ['bytes=9-', { start: 9, end: 9 }],
    ['bytes=0-', { start: 0, end: 9 }],
    ['bytes=5-99', { start: 5, end: 9 }],
    ['bytes=-1', { start: 9, end: 9 }],
    ['bytes=-10', { start: 0, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=10-20', 'unsatisfiable'],
    ['bytes=4-2', undefined],
    ['bytes=-', undefined],
    ['bytes=', undefined],
    ['bytes=0-1,3-4', undefined],
    ['bytes=a-b', undefined],
    ['items=0-1', undefined],
    [undefined, undefined],
  ])('of ten bytes in %s is %j', (range, expected) => {
    expect(requestedRange({ range }, file)).toEqual(expected);
    expect(requestedRange({ range, 'if-range': '"e"' }, file)).toEqual(expected);
    expect(requestedRange({ range, 'if-range': '"other"' }, file)).toBeUndefined();
  });

  it.each(['bytes=0-', 'bytes=0-0', 'bytes=-5'])('of an empty file cannot be %s', (range) => {
    expect(requestedRange({ range }, { size: 0, etag: '"e"' })).toBe('unsatisfiable');
  });
});

it.each([
  [undefined, false],
  ['"e"', true],
  ['W/"e"', true],
  ['"a", W/"e"', true],
  ['"a" ,"e" ,"b"', true],
  ['*', true],
  ['"a", "b"', false],
  ['e', false],
  ['', false],
])('a caller that has the versions %s has the current one: %j', (tags, expected) => {
  expect(isNotModified({ 'if-none-match': tags }, '"e"')).toBe(expected);
});

it.each([
  ['a b.txt', 'a b.txt', 'a%20b.txt'],
  ['ä€😀.txt', '____.txt', '%C3%A4%E2%82%AC%F0%9F%98%80.txt'],
  ['a"b\\c%d.txt', 'a_b_c_d.txt', 'a%22b%5Cc%25d.txt'],
  ["it's (a) *.txt", "it's (a) *.txt", 'it%27s%20%28a%29%20%2A.txt'],
  ['a\r\nSet-Cookie: b', 'a__Set-Cookie: b', 'a%0D%0ASet-Cookie%3A%20b'],
  ['a\ud800b', 'a_b', 'a%EF%BF%BDb'],
])('a download has the name %j', (name, plain, encodedName) => {
  expect(contentDisposition(name)).toBe(`attachment; filename="${plain}"; filename*=UTF-8''${encodedName}`);
});

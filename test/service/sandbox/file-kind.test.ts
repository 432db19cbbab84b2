import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import { imageTypeOf, isText, mimeTypeOf } from '../../../src/service/sandbox/file-kind.ts';
import { wholeCharacters } from '../../../src/service/sandbox/utf8.ts';

it.each([
  ['89504e470d0a1a0a', 'image/png'],
  ['89504e470d0a1a0a0000000d49484452', 'image/png'],
  ['89504e470d0a1a', null],
  ['ffd8ffe000104a46', 'image/jpeg'],
  ['ffd8fe', null],
  ['524946461234567857454250', 'image/webp'],
  ['5249464612345678574542505650', 'image/webp'],
  ['524946461234567857415645', null],
  ['000000001234567857454250', null],
  ['', null],
])('the bytes %s are of the type %s', (hex, type) => {
  expect(imageTypeOf(Buffer.from(hex, 'hex'))).toBe(type);
});

it.each([
  ['a.PNG', 'image/png'],
  ['a.b.csv', 'text/csv'],
  ['png', null],
  ['.png', null],
  ['a.constructor', null],
  ['a.unknown', null],
])('the file %s is of the type %s', (name, type) => {
  expect(mimeTypeOf(name)).toBe(type);
});

it('only a character that is cut off at the end is left out', () => {
  for (const text of ['', 'a', 'é', '€', '😀', 'aé€😀z', '\u0080', '\u07ff', '\u0800', '\uffff', '\u{10000}', '\u{10ffff}']) {
    const bytes = Buffer.from(text);
    for (let length = 0; length <= bytes.length; length++) {
      let complete = 0;
      for (const character of text) {
        const end = complete + Buffer.byteLength(character);
        if (end > length) break;
        complete = end;
      }
      expect(wholeCharacters(bytes.subarray(0, length)), `${text} ${length}`).toBe(complete);
    }
  }
});

it.each(['80', '8080', 'bfbfbf', 'bfbfbfbf', '61bf', '6180bf'])('bytes that are not UTF-8 are left unchanged: %s', (hex) => {
  expect(wholeCharacters(Buffer.from(hex, 'hex'))).toBe(hex.length / 2);
});

it.each(['c0', 'e0', 'f0', 'e280', 'f09f98'])('the beginning of a character is left out: %s', (hex) => {
  expect(wholeCharacters(Buffer.from(hex, 'hex'))).toBe(0);
});

it('text is valid UTF-8 without NUL, and may be cut off only where the file continues', () => {
  const cutBytes = Buffer.from('aé').subarray(0, 2);
  expect([isText(cutBytes, true), isText(cutBytes, false)]).toEqual([true, false]);
  expect([isText(Buffer.from('a\0'), false), isText(Buffer.from([0xff, 0x61]), true), isText(Buffer.alloc(0), false)]).toEqual([
    false,
    false,
    true,
  ]);
});

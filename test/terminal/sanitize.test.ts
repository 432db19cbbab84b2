import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapeJson, sanitize, sanitizeLine } from '../../src/terminal/sanitize.ts';
import { hostileInput, sanitizedHostileText } from './fake-streams.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not pass
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe('sanitize', () => {
  test('makes characters visible that would steer a terminal', () => {
    expect(sanitize(hostileInput)).toBe(sanitizedHostileText);
  });

  test('leaves text in all scripts, emoji sequences, line feeds and tabs unchanged', () => {
    const text = 'Grüße\t日本語\nשלום 👩‍👩‍👧 e\u0301';
    expect(sanitize(text)).toBe(text);
  });

  test('turns CR LF into a line feed, and makes a lone CR visible', () => {
    expect(sanitize('a\r\nb\rc\n\rd')).toBe('a\nb^Mc\n^Md');
  });

  test('leaves nothing dangerous in any text, and a second pass changes nothing', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
        fc.constantFrom('\u202e', '\u2066', '\u061c', '\r', '\n'),
      ),
    });
    fc.assert(
      fc.property(text, (input) => {
        const sanitizedText = sanitize(input);
        expect(sanitizedText).not.toMatch(dangerous);
        expect(sanitize(sanitizedText)).toBe(sanitizedText);
        expect(sanitizeLine(input)).not.toMatch(/[\n\t]/);
      }),
    );
  });
});

test('sanitizeLine keeps everything on one line', () => {
  expect(sanitizeLine('a\nb\tc\r\nd\u2028e')).toBe('a\\nb\\tc\\nd\\u{2028}e');
});

test('escapeJson does not change the value of the JSON', () => {
  const value = { text: `${hostileInput}\u0085`, list: ['\u2066'] };
  const escapedText = escapeJson(JSON.stringify(value, undefined, 2));
  expect(escapedText).not.toMatch(dangerous);
  expect(escapedText).toContain('\\u009b');
  expect(JSON.parse(escapedText)).toEqual(value);
});

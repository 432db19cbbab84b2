import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/base/redaction.ts';

const value = 'sk-test/Ab+1 "q" ÿ?&=';
const { text, value: redactedValue } = createRedactor(new Map([['API_KEY', value]]));

describe('redaction', () => {
  it('replaces every occurrence of a value with the name of the secret', () => {
    expect(text(`a ${value} b ${value}`)).toBe('a [secret API_KEY] b [secret API_KEY]');
    expect(text('nothing confidential')).toBe('nothing confidential');
  });

  it('replaces a value in JSON, in a URL, and in hexadecimal digits', () => {
    expect(text(JSON.stringify({ key: value }))).toBe('{"key":"[secret API_KEY]"}');
    const url = encodeURIComponent(value);
    expect(text(`https://example.com/?key=${url}`)).toBe('https://example.com/?key=[secret API_KEY]');
    expect(text(url.replaceAll(/%../g, (byte) => byte.toLowerCase()))).toBe('[secret API_KEY]');
    const form = new URLSearchParams({ key: 'correct horse battery' }).toString();
    expect(createRedactor(new Map([['PHRASE', 'correct horse battery']])).text(form)).toBe('key=[secret PHRASE]');
    const digits = Buffer.from(value).toString('hex');
    expect(text(`${digits} ${digits.toUpperCase()}`)).toBe('[secret API_KEY] [secret API_KEY]');
  });

  it.each(['base64', 'base64url'] as const)('replaces a value in %s, wherever it is in the encoded text', (encoding) => {
    expect(text(Buffer.from(value).toString(encoding))).toBe('[secret API_KEY]');
    for (let offset = 0; offset < 9; offset++) {
      for (const end of ['', '!', '!!']) {
        const encodedText = Buffer.from(`${'user:pass'.slice(0, offset)}${value}${end}`).toString(encoding);
        const result = text(encodedText);
        expect(result).toContain('[secret API_KEY]');
        // What remains consists of whole characters around the value, with at most one byte of it.
        const rest = result.split('[secret API_KEY]').join('');
        expect(rest.length).toBeLessThanOrEqual(encodedText.length - Math.floor((Buffer.byteLength(value) * 4) / 3) + 2);
      }
    }
  });

  it('replaces the long lines of a value with several lines, for example in a diff', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nab\n-----END KEY-----';
    const { text: redact } = createRedactor(new Map([['KEY', key]]));
    expect(redact(key)).toBe('[secret KEY]');
    expect(redact('+MIIEvQIBADANBgkqhkiG\n+ab')).toBe('+[secret KEY]\n+ab');
  });

  it('replaces the longer of two values that begin alike', () => {
    const both = createRedactor(
      new Map([
        ['SHORT', 'password1'],
        ['LONG', 'password12345'],
      ]),
    );
    expect(both.text('password12345 password1')).toBe('[secret LONG] [secret SHORT]');
  });

  it('leaves values of fewer than 8 characters, because they also occur by chance', () => {
    expect(createRedactor(new Map([['PIN', '1234567']])).text('1234567')).toBe('1234567');
    expect(createRedactor(new Map([['PIN', '12345678']])).text('12345678')).toBe('[secret PIN]');
  });

  it('replaces values in all strings of a JSON value, and leaves the rest unchanged', () => {
    const date = new Date(0);
    expect(redactedValue({ a: [value, 1, null, true], [value]: { b: `x${value}` }, date })).toEqual({
      a: ['[secret API_KEY]', 1, null, true],
      '[secret API_KEY]': { b: 'x[secret API_KEY]' },
      date,
    });
  });
});

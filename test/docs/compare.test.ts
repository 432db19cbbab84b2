import { describe, expect, it } from 'vitest';
import { matches } from './compare.ts';

const home = '/tmp/aops-docs-x1';
const fits = (documentedLines: string[], stdout: string[], stderr: string[] = []): boolean =>
  matches(documentedLines, { stdout, stderr }, home);

describe('comparing what is shown with what is printed', () => {
  it('wants every line, in its order', () => {
    expect(fits(['a', 'b'], ['a', 'b'])).toBe(true);
    expect(fits(['b', 'a'], ['a', 'b'])).toBe(false);
    expect(fits(['a'], ['a', 'b'])).toBe(false);
    expect(fits(['a', 'b'], ['a'])).toBe(false);
  });

  it('takes any interleaving of the two streams', () => {
    expect(fits(['1', 'x', '2', 'y'], ['1', '2'], ['x', 'y'])).toBe(true);
    expect(fits(['x', 'y', '1', '2'], ['1', '2'], ['x', 'y'])).toBe(true);
    expect(fits(['y', 'x', '1', '2'], ['1', '2'], ['x', 'y'])).toBe(false);
    expect(fits(['1', '2'], ['1', '2'], ['error: no'])).toBe(false);
  });

  it('lets … stand for any lines, and for none', () => {
    expect(fits(['a', '…', 'd'], ['a', 'b', 'c', 'd'])).toBe(true);
    expect(fits(['a', '…', 'b'], ['a', 'b'])).toBe(true);
    expect(fits(['…'], [], ['x'])).toBe(true);
    expect(fits(['a', '…', 'd'], ['a', 'b', 'c'])).toBe(false);
  });

  it('leaves out what differs every time', () => {
    expect(fits(['Run 0d6f5a52-7c1c-4c7b-9a58-1f2c9f6e9d10'], ['Run 9d9b2def-6eea-49ec-95f7-ebf19b2467f1'])).toBe(true);
    expect(fits(['Data:  /home/you/.local/share/aops/local'], [`Data: ${home}/.local/share/aops/local`])).toBe(false);
    expect(fits(['URL:      http://127.0.0.1:41873'], ['URL:  http://127.0.0.1:8080'])).toBe(true);
    expect(fits(['Data:  /home/you/x'], [`Data:   ${home}/x`])).toBe(true);
    expect(fits(['completed after 2s', '[running]'], ['completed after 850ms'])).toBe(true);
    expect(fits(['Process:  31133'], ['Process:  7'])).toBe(true);
    expect(fits(['6 invoices, 4065.75 EUR'], ['7 invoices, 4065.75 EUR'])).toBe(false);
  });
});

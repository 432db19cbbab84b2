/** Requests cut into statements. */
import { describe, expect, it } from 'vitest';
import type { Quote } from '../../../src/service/words/quotes.ts';
import {
  boundaryOr,
  maskedStatements,
  normalize,
  originalText,
  type Statement,
  statementsOfLine,
} from '../../../src/service/words/statements.ts';

const read = (line: string, continuation?: string): Statement[] => statementsOfLine(line, [], boundaryOr(continuation));
const texts = (line: string, continuation?: string): string[] => read(line, continuation).map(({ text }) => text);
const onlyStatement = (line: string): Statement => read(line)[0] as Statement;

describe('a line', () => {
  it.each<[string, string[]]>([
    ['remove step 1; say hello', ['remove step 1', 'say hello']],
    ['Remove step 1. Say hello!', ['Remove step 1', 'Say hello']],
    ['remove step 1, and then say hello', ['remove step 1', 'say hello']],
    ['wait 1.5 minutes', ['wait 1.5 minutes']],
    ['- remove step 1', ['remove step 1']],
    ['2) remove step 1', ['remove step 1']],
    ['Could you please also remove step 1, please?', ['remove step 1']],
    ['I would like to see runs', ['runs']],
    ['Hello! Runs. Thanks.', ['Runs']],
    ['say "a; b. c" then "d"', ['say "a; b. c"', '"d"']],
    ['thanks', []],
    ['', []],
  ])('is cut into statements: %s', (line, expected) => {
    expect(texts(line)).toEqual(expected);
  });

  it('is also cut at the boundaries that a grammar adds', () => {
    expect(texts('say a and remove b', '\\s+and\\s+(?=remove)')).toEqual(['say a', 'remove b']);
    expect(texts('say a and remove b')).toEqual(['say a and remove b']);
  });

  it('has line breaks only within quotes, which become spaces in its text', () => {
    expect(onlyStatement('say "a\n  b"').text).toBe('say "a b"');
    expect(normalize('a\r\nb\rc')).toBe('a\nb\nc');
  });
});

describe('the original text', () => {
  it('has the case in which it was written', () => {
    expect(originalText(onlyStatement('rename it to PayDay'), 'payday')).toBe('PayDay');
  });

  it('comes from a whole word', () => {
    expect(originalText(onlyStatement('Papa named it PA'), 'pa')).toBe('PA');
  });

  it('stays in lower case where lower-casing changed the length', () => {
    expect(originalText(onlyStatement('\u0130zmir is PayDay'), 'payday')).toBe('payday');
  });

  it('replaces marks with the quoted texts', () => {
    const quotes: Quote[] = [];
    const [statement] = statementsOfLine('call it "Pay Day"', quotes, boundaryOr());
    expect(originalText(statement as Statement, (statement as Statement).words.slice('call it '.length))).toBe('Pay Day');
    expect(maskedStatements((statement as Statement).original, quotes, boundaryOr())).toEqual([statement]);
  });
});

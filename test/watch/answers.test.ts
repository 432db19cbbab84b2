import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HumanQuestion, HumanRequest } from '../../src/interface/types.ts';
import { answerFromFile, answerFromFlags, fittingAnswer, parseAnswersFile } from '../../src/watch/answers.ts';
import { failureOf } from '../client/harness.ts';
import { question as approval } from './fake-run.ts';

const free: HumanQuestion = { question: 'Why?' };
const colour: HumanQuestion = { question: 'Which colour?', header: 'Colour', options: [{ label: 'Red' }, { label: 'Blue' }] };
const multipleChoice: HumanQuestion = {
  question: 'Which ones?',
  multi_select: true,
  options: [{ label: 'Alpha' }, { label: 'Beta' }, { label: 'Gamma' }],
};
const withCommas: HumanQuestion = {
  question: 'Where?',
  multi_select: true,
  options: [{ label: 'Bonn, Germany' }, { label: 'Paris' }, { label: 'Bonn' }],
};

const requestWith = (...questions: HumanQuestion[]): HumanRequest => ({ ...approval('q'), type: 'question', questions });

describe('an answer to a question', () => {
  it('without options is the trimmed input', () => {
    expect(fittingAnswer(free, '  because, of = it ')).toBe('because, of = it');
    expect(fittingAnswer(free, ['one', ' two'])).toBe('one, two');
    expect(fittingAnswer(free, 'two\nlines')).toBe('two\nlines');
  });

  it.each([
    ['', free],
    ['   ', free],
    ['', colour],
    ['', multipleChoice],
  ])('must not be empty: %j', (input, question) => {
    expect(() => fittingAnswer(question, input)).toThrow(`"${question.question}" needs an answer that is not empty.`);
  });

  it('must not be an empty list or contain empty values', () => {
    expect(() => fittingAnswer(multipleChoice, [])).toThrow('not empty');
    expect(() => fittingAnswer(free, ['a', ''])).toThrow('not empty');
  });

  it('with options is one of them, in the spelling of the service', () => {
    expect(fittingAnswer(colour, ' red ')).toBe('Red');
    const twinQuestion: HumanQuestion = { question: 'Which?', options: [{ label: 'US' }, { label: 'us' }] };
    expect([fittingAnswer(twinQuestion, 'us'), fittingAnswer(twinQuestion, 'US'), fittingAnswer(twinQuestion, 'Us')]).toEqual([
      'us',
      'US',
      'US',
    ]);
  });

  it('that is not an option is rejected, naming all options', () => {
    expect(() => fittingAnswer(colour, 'green')).toThrow(
      expect.objectContaining({ exit: 2, message: '"green" is not an option of "Which colour?".', hint: 'The options are: Red | Blue' }),
    );
  });

  it('to a question for one option cannot be two options', () => {
    expect(() => fittingAnswer(colour, ['Red', 'Blue'])).toThrow('"Which colour?" accepts only one answer, not 2.');
    expect(() => fittingAnswer(colour, 'Red, Blue')).toThrow('is not an option');
  });

  it('to a question for several options can be a list or one text, and contains each option once, in order', () => {
    expect(fittingAnswer(multipleChoice, ['gamma', 'Alpha'])).toBe('Gamma, Alpha');
    expect(fittingAnswer(multipleChoice, 'beta,alpha')).toBe('Beta, Alpha');
    expect(fittingAnswer(multipleChoice, ['Beta', 'alpha, beta'])).toBe('Beta, Alpha');
    expect(fittingAnswer(multipleChoice, 'Beta')).toBe('Beta');
    expect(() => fittingAnswer(multipleChoice, 'Beta, Delta')).toThrow('"Beta, Delta" is not an option');
    expect(() => fittingAnswer(multipleChoice, ['Beta', 'Delta'])).toThrow('"Delta" is not an option');
  });

  it('does not split labels that contain commas', () => {
    expect(fittingAnswer(withCommas, 'bonn, germany')).toBe('Bonn, Germany');
    expect(fittingAnswer(withCommas, ['Bonn, Germany', 'Paris'])).toBe('Bonn, Germany, Paris');
    const single: HumanQuestion = { question: 'Where?', options: [{ label: 'Bonn, Germany' }, { label: 'Paris' }] };
    expect(fittingAnswer(single, 'Bonn, Germany')).toBe('Bonn, Germany');
  });

  it('is found even if a label is empty', () => {
    const ambiguousQuestion: HumanQuestion = { question: 'Where?', multi_select: true, options: [{ label: '' }, { label: 'Paris' }] };
    expect(fittingAnswer(ambiguousQuestion, 'paris')).toBe('Paris');
    expect(() => fittingAnswer(ambiguousQuestion, 'London')).toThrow('"London" is not an option');
  });

  it('finds labels with commas among others in one text', () => {
    expect(fittingAnswer(withCommas, 'Paris, Bonn, Germany')).toBe('Paris, Bonn, Germany');
    expect(fittingAnswer(withCommas, 'Bonn, Paris')).toBe('Bonn, Paris');
  });
});

describe('answers by flags', () => {
  it('name the question or its header, or nothing if there is only one', () => {
    expect(answerFromFlags(requestWith(free), ['because'])).toEqual({ answers: { 'Why?': 'because' } });
    expect(answerFromFlags(requestWith(free, colour), ['why?=a=b', 'colour=RED'])).toEqual({
      answers: { 'Why?': 'a=b', 'Which colour?': 'Red' },
    });
    expect(answerFromFlags(requestWith(multipleChoice), ['Which ones?=alpha', 'Which ones?=beta'])).toEqual({
      answers: { 'Which ones?': 'Alpha, Beta' },
    });
  });

  it('with an equals sign name their question, even if there is only one', () => {
    expect(answerFromFlags(requestWith(free), ['Why?=x=1'])).toEqual({ answers: { 'Why?': 'x=1' } });
    expect(() => answerFromFlags(requestWith(free), ['x=1'])).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("--answer 'QUESTION=ANSWER'") }),
    );
  });

  it('cannot answer a request that has no questions', () => {
    for (const request of [requestWith(), approval('q')]) {
      expect(answerFromFlags(request, [])).toEqual({ answers: {} });
      expect(() => answerFromFlags(request, ['x'])).toThrow('"x" does not name a question of this request.');
    }
  });

  it('have an example of an answer in the hint about a missing one', () => {
    expect(() => answerFromFlags(requestWith(free), [])).toThrow(
      expect.objectContaining({ message: 'An answer is missing for "Why?".', hint: "Add --answer 'Why?=ANSWER'." }),
    );
  });

  it('that match no question, or leave one out, are rejected with an example', () => {
    expect(() => answerFromFlags(requestWith(free, colour), ['blue'])).toThrow(
      expect.objectContaining({
        message: '"blue" does not name a question of this request.',
        hint: expect.stringContaining('"Why?", "Which colour?"'),
      }),
    );
    expect(() => answerFromFlags(requestWith(free, colour), ['Why?=x'])).toThrow(
      expect.objectContaining({
        message: 'An answer is missing for "Which colour?".',
        hint: "Add --answer 'Which colour?=Red'. The options are: Red | Blue",
      }),
    );
    expect(() => answerFromFlags(requestWith(free, colour), [])).toThrow('"Why?", "Which colour?"');
  });
});

describe('an answers file', () => {
  const parse = (text: string) => parseAnswersFile(text, 'a.yaml');

  it('contains approvals and answers, in YAML or JSON', async () => {
    expect(
      await parse('approvals:\n  Pay it: true\n  "*": no\nanswers:\n  Why?: 42\n  Which ones?: [Alpha, Beta]\n  Sure?: true\n').catch(
        (error) => error.message,
      ),
    ).toBe('a.yaml: approvals: "*" must be true or false, or a map with `approved` and `reason`.');
    expect(
      await parse('approvals:\n  Pay it: true\n  "*": false\nanswers:\n  Why?: 42\n  Which ones?: [Alpha, 2]\n  Sure?: true\n'),
    ).toEqual({
      approvals: { 'Pay it': true, '*': false },
      answers: { 'Why?': '42', 'Which ones?': ['Alpha', '2'], 'Sure?': 'true' },
    });
    expect(await parse('{"answers": {"Why?": "because"}}')).toEqual({ approvals: {}, answers: { 'Why?': 'because' } });
  });

  it('can contain the reason for a decision', async () => {
    const file = await parse('approvals:\n  Pay it: { approved: true, reason: " Within the budget " }\n  "*": { approved: false }\n');
    expect(answerFromFile(file, approval('q', 'Pay it'))).toEqual({ approved: true, reason: 'Within the budget' });
    expect(answerFromFile(file, approval('q', 'Sell it'))).toEqual({ approved: false });
  });

  it('can contain a reason of up to 2,000 characters', async () => {
    const reason = '😀'.repeat(2_000);
    const file = await parse(JSON.stringify({ approvals: { Pay: { approved: false, reason } } }));
    expect(file.approvals).toEqual({ Pay: { approved: false, reason } });
    expect(await failureOf(parse(JSON.stringify({ approvals: { Pay: { approved: false, reason: `${reason}x` } } })))).toMatchObject({
      message: 'a.yaml: approvals: "Pay": `reason` must have 1 to 2000 characters.',
    });
  });

  it.each(['', '# nothing\n', '{}', 'answers:\n', 'approvals: null'])('can be empty: %j', async (text) => {
    expect(await parse(text)).toEqual({ approvals: {}, answers: {} });
  });

  it.each([
    ['a: b: c', /^a\.yaml is not valid YAML: /],
    ['answers: {', /^a\.yaml is not valid YAML: /],
    ['- a', /^a\.yaml must be a map\./],
    ['just text', /^a\.yaml must be a map\./],
    ['answer:\n  a: b', /^a\.yaml: unknown key "answer"\./],
    ['answers: [a]', /^a\.yaml: answers must be a map\./],
    ['approvals: yes please', /^a\.yaml: approvals must be a map\./],
    ['approvals: {Pay: "true"}', /^a\.yaml: approvals: "Pay" must be true or false, or a map with `approved` and `reason`\./],
    ['approvals: {Pay: {reason: x}}', /^a\.yaml: approvals: "Pay": `approved` must be true or false\./],
    ['approvals: {Pay: {approved: true, why: x}}', /^a\.yaml: approvals: "Pay": unknown key "why"\./],
    ['approvals: {Pay: {approved: true, reason: " "}}', /^a\.yaml: approvals: "Pay": `reason` must have 1 to 2000 characters\./],
    [`approvals: {Pay: {approved: true, reason: ${'x'.repeat(2_001)}}}`, /`reason` must have 1 to 2000 characters\./],
    ['approvals: {Pay: {approved: true, reason: 42}}', /`reason` must have 1 to 2000 characters\./],
    ['approvals: {Pay: null}', /^a\.yaml: approvals: "Pay" must be true or false/],
    ['approvals: {Pay: [true]}', /^a\.yaml: approvals: "Pay" must be true or false/],
    ['answers: {Why: {a: b}}', /^a\.yaml: answers: "Why" must be a text or a list of texts\./],
    ['answers: {Why: []}', /^a\.yaml: answers: "Why" must be a text/],
    ['answers: {Why: [a, [b]]}', /^a\.yaml: answers: "Why" must be a text/],
    ['answers: {Why: [[a]]}', /^a\.yaml: answers: "Why" must be a text/],
    ['answers: {Why: null}', /^a\.yaml: answers: "Why" must be a text/],
    ['answers: {a: b, a: c}', /^a\.yaml is not valid YAML: .*unique/],
    ['a: *missing', /^a\.yaml is not valid YAML: /],
  ])('is rejected if it is invalid: %j', async (text, message) => {
    expect(await failureOf(parse(text))).toMatchObject({ exit: 2, message: expect.stringMatching(message) });
  });

  it('treats names of prototype members like any other', async () => {
    const file = await parse('approvals:\n  "*": true\nanswers:\n  __proto__: x\n  constructor: y\n');
    expect(answerFromFile(file, requestWith({ question: 'constructor' }))).toEqual({ answers: { constructor: 'y' } });
    expect(answerFromFile(file, requestWith({ question: 'toString' }))).toBeUndefined();
    expect(answerFromFile(file, approval('q', 'toString'))).toEqual({ approved: true });
  });

  it('is not affected by recursive aliases', async () => {
    const bomb = `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}\n`;
    expect(await failureOf(parse(bomb))).toMatchObject({ exit: 2 });
  });
});

describe('the answer from a file', () => {
  const file = {
    approvals: { 'Pay *': true, 'Pay all': false, 'a.c': true },
    answers: { 'Which*': ['Blue'], 'Why?': 'because', 'Which ones?': 'alpha,beta' },
  };

  it('is the one under the exact text, or else under the first matching pattern', () => {
    expect(answerFromFile(file, approval('q', 'Pay 10'))).toEqual({ approved: true });
    expect(answerFromFile(file, approval('q', 'Pay all'))).toEqual({ approved: false });
    expect(answerFromFile(file, approval('q', 'Pay 1\n0'))).toEqual({ approved: true });
    expect(answerFromFile(file, requestWith(colour))).toEqual({ answers: { 'Which colour?': 'Blue' } });
    expect(answerFromFile(file, requestWith(multipleChoice, free))).toEqual({
      answers: { 'Which ones?': 'Alpha, Beta', 'Why?': 'because' },
    });
  });

  it('is missing when the request, or one of its questions, is not in the file', () => {
    expect(answerFromFile(file, approval('q', 'Prepay 10'))).toBeUndefined();
    expect(answerFromFile(file, approval('q', 'abc'))).toBeUndefined();
    expect(answerFromFile(file, requestWith(free, { question: 'When?' }))).toBeUndefined();
  });

  it('is empty for a request without questions', () => {
    expect(answerFromFile(file, { ...approval('q'), type: 'question' })).toEqual({ answers: {} });
  });

  it('is an error if it is not an option', () => {
    expect(() => answerFromFile({ approvals: {}, answers: { '*': 'Green' } }, requestWith(colour))).toThrow(
      '"Green" is not an option of "Which colour?".',
    );
  });

  it('matches every character except the asterisk literally', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, middle, after) => {
        fc.pre(![before, after].some((text) => text.includes('*')));
        expect(
          answerFromFile({ approvals: { [`${before}*${after}`]: true }, answers: {} }, approval('q', before + middle + after)),
        ).toEqual({ approved: true });
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  it.each([
    ['a*b', 'ab', true],
    ['a*b', 'a*b', true],
    ['a*b', 'a', false],
    ['a*b', 'xab', false],
    ['a*b', 'abx', false],
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['*', '', true],
    ['**', 'x', true],
    ['*x*y*', '1x2y3', true],
    ['*x*y*', '1y2x3', false],
    ['*x*x*', '1x2', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'a c', false],
    ['a*b*b', 'ab', false],
    ['a*b*b', 'abb', true],
    ['a*bc*cd', 'abcd', false],
    ['a', 'ab', false],
    ['a', 'a undefined', false],
    ['A', 'a', false],
  ])('matches with asterisks in several places: %s and %s', (pattern, title, isMatch) => {
    const answer = answerFromFile({ approvals: { [pattern]: true }, answers: {} }, approval('q', title));
    expect(answer).toEqual(isMatch ? { approved: true } : undefined);
  });

  it('is found quickly, whatever the pattern', () => {
    const pattern = `${'*a'.repeat(30)}*b`;
    expect(answerFromFile({ approvals: { [pattern]: true }, answers: {} }, approval('q', 'a'.repeat(60)))).toBeUndefined();
  });
});

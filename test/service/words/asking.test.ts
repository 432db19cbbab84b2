/** Questions that a request raises, and their answers when it is read again. */
import { describe, expect, it } from 'vitest';
import { Asker, OpenQuestion } from '../../../src/service/words/asking.ts';
import { limitParts, RefusalError, unfinishedOutcome } from '../../../src/service/words/outcome.ts';

const whichQuestion = { question: 'Which one?', header: 'Step' };
const choices = [
  { label: 'One.', value: 1 },
  { label: 'one', description: 'the other', value: 2 },
];
const thrownBy = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('a choice', () => {
  it('is a question with the labels as options until it is answered', () => {
    const options = [{ label: 'One.' }, { label: 'one', description: 'the other' }];
    expect(thrownBy(() => new Asker({}).choose(whichQuestion, choices))).toMatchObject({
      question: { ...whichQuestion, options },
      isCertain: true,
    });
    expect(thrownBy(() => new Asker({}).choose(whichQuestion, choices, false))).toMatchObject({ isCertain: false });
  });

  it.each<[string, number]>([
    ['One.', 1],
    ['one', 2],
    [' ONE ', 1],
  ])('prefers the exact label: %j', (answer, value) => {
    expect(new Asker({ 'Which one?': answer }).choose(whichQuestion, choices)).toBe(value);
  });

  it('is asked for again when the answer is not one of the options', () => {
    expect(() => new Asker({ 'Which one?': 'two' }).choose(whichQuestion, choices)).toThrow(OpenQuestion);
  });
});

it('returns the answer to a question about a text, and does not mistake a property of objects for one', () => {
  expect(new Asker({ 'Which one?': ' this ' }).answer(whichQuestion)).toBe('this');
  expect(() => new Asker({}).answer({ question: 'constructor', header: 'x' })).toThrow(OpenQuestion);
});

describe('an unfinished request', () => {
  it('asks or has failed', () => {
    expect(unfinishedOutcome(new OpenQuestion(whichQuestion))).toEqual({ status: 'asking', questions: [whichQuestion] });
    expect(unfinishedOutcome(new RefusalError('No.'))).toEqual({ status: 'failed', error: 'No.' });
  });

  it('does not hide other errors', () => {
    const error = new Error('disk full');
    expect(thrownBy(() => unfinishedOutcome(error))).toBe(error);
  });

  it('is one with too many parts', () => {
    limitParts('message', [1, 2], 2);
    expect(() => limitParts('message', [1, 2, 3], 2)).toThrow('The message has 3 parts; at most 2 are allowed.');
  });
});

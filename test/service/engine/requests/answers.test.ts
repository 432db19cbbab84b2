import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerInWords, chosenLabels, type RequestToAnswer, readAnswer } from '../../../../src/service/engine/requests/answers.ts';

const requestWith = (...questions: RequestToAnswer['questions']): RequestToAnswer => ({ type: 'question', title: 'T', questions });
const colours = [{ label: 'Red' }, { label: 'Red, dark' }, { label: 'Blue' }];
const problem = (request: RequestToAnswer, body: Parameters<typeof readAnswer>[1]) => {
  try {
    return `accepted ${JSON.stringify(readAnswer(request, body).answer)}`;
  } catch (error) {
    expect(error).toMatchObject({ status: 400, error: 'invalid_answer' });
    return (error as Error).message;
  }
};

describe('an approval', () => {
  const request: RequestToAnswer = { type: 'approval', title: 'Pay?', questions: [] };

  it('accepts a yes or a no', () => {
    expect(readAnswer(request, { approved: true })).toEqual({
      answer: { type: 'approval', approved: true },
      response: 'approved',
      message: 'Approved: Pay?',
    });
    expect(readAnswer(request, { approved: false }).message).toBe('Denied: Pay?');
    expect(problem(request, {})).toContain('approved is required');
    expect(problem(request, { approved: true, answers: {} })).toContain('answers must be left out');
  });

  it('accepts a reason with either decision', () => {
    for (const [approved, word] of [
      [true, 'approved'],
      [false, 'denied'],
    ] as const) {
      const answer = readAnswer(request, { approved, reason: 'Checked it.' });
      expect(answer.answer).toEqual({ type: 'approval', approved, reason: 'Checked it.' });
      expect(answer.response).toBe(`${word}: Checked it.`);
      expect(answer.message).toMatch(/^(Approved|Denied): Pay\?\nChecked it\.$/);
    }
  });

  it('lists every problem of an answer', () => {
    expect(problem(request, { answers: {} })).toBe(
      'The answer does not fit the request: approved is required: this request is an approval; answers must be left out: this request is an approval.',
    );
  });

  it('counts as denied if it is answered with a message', () => {
    expect(answerInWords(request, 'later')).toEqual({
      answer: { type: 'approval', approved: false, reason: 'later' },
      response: 'denied: later',
    });
  });
});

describe('questions', () => {
  const singleChoice = { question: 'Colour?', options: colours };
  const multipleChoice = { question: 'Colours?', options: colours, multi_select: true };
  const free = { question: 'Why?' };

  it('accept one answer each', () => {
    const answer = readAnswer(requestWith(singleChoice, multipleChoice, free), {
      answers: { 'Colour?': ' Red, dark ', 'Colours?': 'Blue , Red, dark,Red', 'Why?': 'so, so' },
    });
    expect(answer.answer).toEqual({
      type: 'question',
      answers: { 'Colour?': 'Red, dark', 'Colours?': ['Blue', 'Red, dark', 'Red'], 'Why?': 'so, so' },
    });
    expect(answer.message).toBe('Colour? Red, dark\nColours? Blue, Red, dark, Red\nWhy? so, so');
  });

  it('are named by their text, also if it contains quotation marks', () => {
    expect(problem(requestWith({ question: 'Which vendor is "ACME"?' }), { answers: {} })).toBe(
      'The answer does not fit the request: "Which vendor is "ACME"?" needs an answer.',
    );
  });

  it('report which answers are missing, unknown, or not among the options', () => {
    expect(problem(requestWith(singleChoice), {})).toContain('"Colour?" needs an answer; choose from: "Red", "Red, dark", "Blue"');
    expect(problem(requestWith(free), { answers: { 'Why?': '  ' } })).toContain('"Why?" needs an answer');
    expect(problem(requestWith(singleChoice), { answers: { 'Colour?': 'Red,Blue' } })).toContain(
      '"Colour?" must be one of these: "Red", "Red, dark", "Blue"',
    );
    expect(problem(requestWith(multipleChoice), { answers: { 'Colours?': 'Red, Green' } })).toContain('must be one or more of these');
    expect(problem(requestWith(free), { answers: { 'Why?': 'x', 'How?': 'y' } })).toContain(
      '"How?" is not one of the questions; they are: "Why?"',
    );
    expect(problem(requestWith(free), { approved: true, answers: { 'Why?': 'x' } })).toContain('approved must be left out');
  });

  it('are answered in one line, or in one line each', () => {
    expect(readAnswer(requestWith(multipleChoice), { answers: { 'Colours?': 'Blue, Red' } })).toEqual({
      answer: { type: 'question', answers: { 'Colours?': ['Blue', 'Red'] } },
      response: 'Blue, Red',
      message: 'Colours? Blue, Red',
    });
    expect(readAnswer(requestWith(singleChoice, free), { answers: { 'Colour?': 'Blue', 'Why?': 'so' } }).response).toBe(
      'Colour? Blue\nWhy? so',
    );
  });

  it('list every problem of an answer', () => {
    const listAnswers = (): unknown => {
      try {
        return readAnswer(requestWith(singleChoice, free), { approved: true, reason: 'x', answers: { 'Colour?': 'Green', 'How?': 'y' } });
      } catch (error) {
        return error;
      }
    };
    expect(listAnswers()).toMatchObject({
      message:
        'The answer does not fit the request: approved must be left out: this request asks questions; ' +
        'reason must be left out: this request asks questions; "How?" is not one of the questions; they are: "Colour?", "Why?"; ' +
        '"Colour?" must be one of these: "Red", "Red, dark", "Blue"; "Why?" needs an answer.',
      details: [{ path: 'approved' }, { path: 'reason' }, { path: 'answers' }, { path: 'answers' }, { path: 'answers' }],
    });
  });

  it('accept options whose labels begin or end with spaces, or are repeated', () => {
    const paddedQuestion = { question: 'Which?', options: [{ label: ' Yes ' }, { label: 'No' }, { label: 'No' }] };
    const choose = (text: string, multi_select: boolean) =>
      (readAnswer(requestWith({ ...paddedQuestion, multi_select }), { answers: { 'Which?': text } }).answer as { answers: object }).answers;
    expect(choose('Yes', false)).toEqual({ 'Which?': ' Yes ' });
    expect(choose('No', false)).toEqual({ 'Which?': 'No' });
    expect(choose('No, Yes, No', true)).toEqual({ 'Which?': ['No', ' Yes '] });
  });

  it('can have the names of properties that every object has', () => {
    expect(problem(requestWith({ question: 'toString' }), { answers: {} })).toContain('needs an answer');
    const answers = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    expect(JSON.stringify(readAnswer(requestWith({ question: '__proto__' }), { answers }).answer)).toContain('"__proto__":"x"');
  });

  it('are all answered with the text of a message', () => {
    expect(answerInWords(requestWith(singleChoice, free), 'dunno')).toEqual({
      answer: { type: 'question', answers: { 'Colour?': 'dunno', 'Why?': 'dunno' } },
      response: 'dunno',
    });
  });
});

it('finds labels separated by commas, whatever they contain', () => {
  const label = fc.stringMatching(/^[ab, ]{1,6}$/).filter((text) => text.trim() !== '' && !/^[,\s]|[,\s]$/.test(text));
  fc.assert(
    fc.property(fc.uniqueArray(label, { minLength: 1, maxLength: 6 }), fc.infiniteStream(fc.boolean()), (labels, pick) => {
      const selection = labels.filter(() => pick.next().value as boolean);
      if (selection.length === 0) return;
      // There can be several readings ("a" and "b", or "a, b"). One must be found, and it must give the same text.
      const parsedLabels = chosenLabels(selection.join(', '), labels);
      expect(parsedLabels?.every((text) => labels.includes(text))).toBe(true);
    }),
  );
  expect(chosenLabels('Rome, Italy', ['Rome', 'Italy', 'Rome, Italy'])).toEqual(['Rome, Italy']);
  expect(chosenLabels('Rome , Italy,Rome, Italy', ['Rome', 'Italy', 'Rome, Italy'])).toEqual(['Rome', 'Italy', 'Rome, Italy']);
  expect(['Rome Italy', 'Rome,', ',Rome', 'Rome,,Italy', 'Paris'].map((text) => chosenLabels(text, ['Rome', 'Italy']))).toEqual(
    Array(5).fill(undefined),
  );
  const trap = Array.from({ length: 12 }, (_, index) => 'a'.repeat(index + 1));
  expect(chosenLabels(`${Array.from({ length: 400 }, () => 'a').join(',')},x`, ['a', 'a,a', 'a,a,a', ...trap])).toBeUndefined();
});

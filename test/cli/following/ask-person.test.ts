/** What a person chooses and writes in prompts, as the answer to a human request. Only what the person decides becomes an answer. */
import { expect, it } from 'vitest';
import { askPerson, LeftPendingError } from '../../../src/cli/following/ask-person.ts';
import type { WrittenTexts } from '../../../src/cli/following/written-texts.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';
import { PromptDismissed, type Prompter } from '../../../src/terminal/prompts.ts';

const { signal } = new AbortController();
const request = (fields: Partial<HumanRequest>): HumanRequest =>
  ({ id: 'r', type: 'approval', title: 'Pay?', description: null, ...fields }) as HumanRequest;
const questions = [
  { question: 'Which account?', options: [{ label: 'A' }, { label: 'B', description: 'shared' }] },
  { question: 'Which labels?', options: [{ label: 'x' }, { label: 'y' }, { label: 'z' }], multi_select: true },
  { question: 'Why?' },
];

type Question = Parameters<Prompter['select']>[0] & Parameters<Prompter['input']>[0];
/** Esc leaves a prompt. */
const esc = Symbol('Esc');
type Entry = string | readonly string[] | typeof esc;

/** A person who enters these names of choices and texts, one for each prompt. */
async function answerOf(asked: HumanRequest, ...entries: Entry[]) {
  const shown: Question[] = [];
  const written: [string, string][] = [];
  const unsolicited: unknown[] = [];
  const next = (question: Question, options: { unsolicited?: boolean } = {}): Exclude<Entry, typeof esc> => {
    shown.push(question);
    unsolicited.push(options.unsolicited === true);
    const entry = entries.shift() as Entry;
    if (entry === esc) throw new PromptDismissed();
    return entry;
  };
  const chosenValue = ({ choices }: Question, name: unknown) => choices.find((choice) => choice.name === name)?.value;
  const prompter = {
    select: async (question: Question, options: object) => chosenValue(question, next(question, options)),
    checkbox: async (question: Question, options: object) =>
      (next(question, options) as string[]).map((name) => chosenValue(question, name)),
    input: async (question: Question, options: object) => next(question, options),
  } as unknown as Prompter;
  const texts = { add: (place: string, text: string) => void written.push([place, text]) } as unknown as WrittenTexts;
  const answer = await askPerson({ prompter, request: asked, texts, signal }).catch((error: unknown) => error);
  return { answer, shown, written, unsolicited, left: entries };
}

it.each([
  [['Approve'], { approved: true }, []],
  [['Deny'], { approved: false }, []],
  [['Approve with a comment', ' fine '], { approved: true, reason: 'fine' }, [['Your comment?', 'fine']]],
  [['Deny with a reason', 'too much'], { approved: false, reason: 'too much' }, [['Why?', 'too much']]],
])('an approval is what the person chooses: %j', async (entries, expected, texts) => {
  const { answer, written, shown } = await answerOf(request({ description: 'To Example Inc.' }), ...entries);
  expect([answer, written]).toEqual([expected, texts]);
  // Nothing is highlighted, so that Enter alone decides nothing.
  expect(shown[0]).toMatchObject({ message: 'Pay?', detail: 'To Example Inc.', neutral: true });
});

it.each([
  ['leaves it pending', request({}), ['Leave it pending']],
  ['presses Esc', request({}), [esc]],
  ['presses Esc instead of giving a reason', request({}), ['Deny with a reason', esc]],
  ['leaves a question pending', request({ type: 'question', questions }), ['Leave it pending']],
  ['presses Esc at the last question', request({ type: 'question', questions }), ['A', ['x'], esc]],
])('is no answer if the person %s', async (_, asked, entries) => {
  const { answer, left } = await answerOf(asked as HumanRequest, ...(entries as Entry[]));
  expect(answer).toBeInstanceOf(LeftPendingError);
  expect(left).toEqual([]);
});

it('questions are answered one after the other, and only the first appears by itself', async () => {
  const asked = request({ type: 'question', title: 'Booking', description: 'For invoice 7.\n', questions });
  const { answer, shown, written, unsolicited } = await answerOf(asked, 'B', ['x', 'z'], 'because');
  expect(answer).toEqual({ answers: { 'Which account?': 'B', 'Which labels?': 'x, z', 'Why?': 'because' } });
  expect(shown.map(({ message, above }) => [message, above])).toEqual([
    ['Which account?', 'Booking\nFor invoice 7.\n'],
    ['Which labels?', undefined],
    ['Why?', undefined],
  ]);
  expect(unsolicited).toEqual([true, false, false]);
  expect(shown[0]?.choices.slice(0, 2)).toEqual([
    { name: 'A', value: 'A' },
    { name: 'B', value: 'B', description: 'shared' },
  ]);
  // Otherwise Enter alone would be an empty answer.
  expect(shown[1]).toMatchObject({ required: true });
  expect(written).toEqual([['Why?', 'because']]);
});

it('a question without options is answered with a text, also if it accepts several answers', async () => {
  const { answer } = await answerOf(request({ type: 'question', questions: [{ question: 'Which?', multi_select: true }] }), 'x, y');
  expect(answer).toEqual({ answers: { 'Which?': 'x, y' } });
});

it('a title that is the question is not shown twice', async () => {
  const { shown } = await answerOf(request({ type: 'question', title: 'Why?', questions: [{ question: 'Why?' }] }), 'because');
  expect(shown[0]?.above).toBeUndefined();
});

it('a reason and an answer must contain more than spaces', async () => {
  for (const [asked, entries] of [
    [request({}), ['Deny with a reason', 'x']],
    [request({ type: 'question', questions: [{ question: 'Why?' }] }), ['x']],
  ] as const) {
    const { shown } = await answerOf(asked, ...entries);
    const { validate } = shown.at(-1) as Question;
    expect([validate?.('x'), validate?.(' ')]).toEqual([true, expect.stringContaining('press Esc to leave it pending')]);
  }
});

/** Questions that an agent asks as a request for permission. */
import type { RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { permissionQuestions, questionResponse } from '../../../../src/service/runtimes/acp/permission-questions.ts';

const request = (questions: unknown, input?: unknown): RequestPermissionRequest => ({
  sessionId: 's',
  options: [{ optionId: 'submit', name: 'Submit', kind: 'allow_once' }],
  toolCall: {
    toolCallId: 'c',
    title: 'Ask user',
    ...(input === undefined ? {} : { rawInput: { questions: input } }),
    _meta: { qwenInteractionKind: 'user_question', qwenQuestions: questions },
  },
});

describe('questions with the same text', () => {
  const asked = request([{ question: 'Which one?' }, { question: 'Which one?' }, { question: 'Which one?' }]);

  it('are told from each other', () => {
    expect(permissionQuestions(asked)?.questions?.map(({ question }) => question)).toEqual([
      'Which one?',
      'Which one? (2)',
      'Which one? (3)',
    ]);
  });

  it('are answered by their position', () => {
    expect(questionResponse(asked, { 'Which one? (3)': ['a', 'b'], 'Which one?': 'c' })).toEqual({
      outcome: { outcome: 'selected', optionId: 'submit' },
      answers: { 0: 'c', 2: 'a, b' },
    });
  });
});

it.each([
  ['none', undefined, undefined],
  ['no list', 'Which one?', undefined],
  ['one that cannot be read', [{ question: 'Which one?' }, { question: ' ' }], undefined],
  ['those of the arguments, if there are no others', [], [{ question: 'Which one?' }]],
])('questions: %s', (_, questions, input) => {
  expect(permissionQuestions(request(questions, input))?.questions).toEqual(input === undefined ? undefined : [{ question: 'Which one?' }]);
});

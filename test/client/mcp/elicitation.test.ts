/** What a client reports that its user entered into a form, as the answer to a human request. Anything else is no answer. */
import { expect, it } from 'vitest';
import { formAnswer } from '../../../src/client/mcp/elicitation.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';

const request = (fields: Partial<HumanRequest>): HumanRequest => ({ id: 'r', title: 'Pay?', ...fields }) as HumanRequest;
const approval = request({ type: 'approval' });
const questions = request({ type: 'question', questions: [{ question: 'Which account?' }, { question: 'Why?' }] });
const accept = (content: unknown): unknown => ({ action: 'accept', content });

it.each([
  ['approved', { decision: 'approve' }, { approved: true }],
  ['approved, whatever else it contains', { decision: 'approve', reason: 'ok' }, { approved: true }],
  ['denied', { decision: 'deny' }, { approved: false }],
  ['denied with a reason', { decision: 'deny', reason: 'no' }, { approved: false, reason: 'no' }],
  ['denied without a reason', { decision: 'deny', reason: ' ' }, { approved: false }],
  ['denied with a reason that is not a text', { decision: 'deny', reason: 1 }, { approved: false }],
])('a form can be %s', (_, content, answer) => {
  expect(formAnswer(approval, accept(content))).toEqual(answer);
});

it('a form with questions has an answer for each', () => {
  const content = { answer_1: 'A', answer_2: 'because', answer_3: 'x' };
  expect(formAnswer(questions, accept(content))).toEqual({ answers: { 'Which account?': 'A', 'Why?': 'because' } });
});

it.each([
  ['was declined', approval, { action: 'decline', content: { decision: 'approve' } }],
  ['was closed', approval, { action: 'cancel', content: { decision: 'approve' } }],
  ['has no content', approval, { action: 'accept' }],
  ['has another decision', approval, accept({ decision: 'Approve' })],
  ['has no decision', approval, accept({ reason: 'x' })],
  ['is not an object', approval, 'approve'],
  ['is missing', approval, undefined],
  ['lacks an answer', questions, accept({ answer_1: 'A' })],
  ['has an empty answer', questions, accept({ answer_1: 'A', answer_2: ' ' })],
  ['has an answer that is not a text', questions, accept({ answer_1: 'A', answer_2: true })],
  ['is about a request without questions', request({ type: 'question', questions: [] }), accept({ answer_1: 'A' })],
])('a form that %s decides nothing', (_, asked, response) => {
  expect(formAnswer(asked as HumanRequest, response)).toBeUndefined();
});

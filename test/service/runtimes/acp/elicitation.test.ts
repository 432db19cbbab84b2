/** Forms of agents as questions to people, and the answers of people as content of forms. */
import type { CreateElicitationRequest } from '@agentclientprotocol/sdk';
import { expect, it } from 'vitest';
import { elicitationRequest, elicitationResponse } from '../../../../src/service/runtimes/acp/elicitation.ts';

const form = (properties: Record<string, object>): CreateElicitationRequest =>
  ({
    mode: 'form',
    sessionId: 's',
    message: 'Some questions',
    requestedSchema: { type: 'object', properties },
  }) as CreateElicitationRequest;
const questionsOf = (properties: Record<string, object>) => elicitationRequest(form(properties))?.questions;
const contentOf = (properties: Record<string, object>, answers: Record<string, string | string[]>) =>
  elicitationResponse(form(properties), { type: 'question', answers });

it.each<[string, object, object, [answer: string | string[], value: unknown][]]>([
  [
    'a text',
    { type: 'string' },
    { question: 'p' },
    [
      ['any text', 'any text'],
      ['12', '12'],
    ],
  ],
  ['a text with a title', { type: 'string', title: 'Name' }, { question: 'Name' }, [['Ada', 'Ada']]],
  [
    'a text with a title and a description',
    { type: 'string', title: 'Name', description: 'What is your name?' },
    { question: 'What is your name?', header: 'Name' },
    [['Ada', 'Ada']],
  ],
  ['a text with an empty description', { type: 'string', title: ' ', description: '' }, { question: 'p', header: ' ' }, [['a', 'a']]],
  [
    'a number',
    { type: 'number' },
    { question: 'p' },
    [
      ['2.5', 2.5],
      ['many', 'many'],
      [' ', ' '],
    ],
  ],
  [
    'a yes or no',
    { type: 'boolean' },
    { question: 'p', options: [{ label: 'Yes' }, { label: 'No' }] },
    [
      ['Yes', true],
      ['No', false],
    ],
  ],
  [
    'a choice',
    { type: 'string', enum: ['a', 'b'] },
    { question: 'p', options: [{ label: 'a' }, { label: 'b' }] },
    [
      ['b', 'b'],
      ['other', 'other'],
    ],
  ],
  [
    'a choice with titles and descriptions',
    {
      type: 'string',
      oneOf: [
        { const: 'a', title: 'First', description: 'The first one' },
        { const: 'b', title: ' ' },
      ],
    },
    { question: 'p', options: [{ label: 'First', description: 'The first one' }, { label: 'b' }] },
    [
      ['First', 'a'],
      ['b', 'b'],
    ],
  ],
  [
    'a choice of numbers with titles',
    {
      type: 'integer',
      oneOf: [
        { const: 1, title: 'Once' },
        { const: 2, title: 'Twice' },
      ],
    },
    { question: 'p', options: [{ label: 'Once' }, { label: 'Twice' }] },
    [
      ['Twice', 2],
      ['3', 3],
    ],
  ],
  [
    'a choice of several',
    {
      type: 'array',
      items: {
        anyOf: [
          { const: 'a', title: 'First' },
          { const: 'b', title: 'Second' },
        ],
      },
    },
    { question: 'p', options: [{ label: 'First' }, { label: 'Second' }], multi_select: true },
    [
      [
        ['Second', 'First'],
        ['b', 'a'],
      ],
      ['Second', ['b']],
      [[], []],
    ],
  ],
  [
    'a list without choices',
    { type: 'array' },
    { question: 'p', multi_select: true },
    [
      [
        ['x', 'y'],
        ['x', 'y'],
      ],
    ],
  ],
  [
    'choices with the same title',
    {
      type: 'string',
      oneOf: [
        { const: 'draft', title: 'Delete' },
        { const: 'all', title: 'Delete' },
      ],
    },
    { question: 'p', options: [{ label: 'Delete (draft)' }, { label: 'Delete (all)' }] },
    [
      ['Delete (draft)', 'draft'],
      ['Delete (all)', 'all'],
    ],
  ],
])('%s', (_, property, question, answers) => {
  const [asked] = questionsOf({ p: property }) ?? [];
  expect(asked).toEqual(question);
  for (const [answer, value] of answers)
    expect(contentOf({ p: property }, { [asked?.question as string]: answer })).toEqual({ action: 'accept', content: { p: value } });
});

it('tells questions with the same text apart', () => {
  const properties = { a: { type: 'string', title: 'Name' }, b: { type: 'string', title: 'Name' } };
  expect(questionsOf(properties)?.map(({ question }) => question)).toEqual(['Name', 'Name (b)']);
  expect(contentOf(properties, { Name: 'first', 'Name (b)': 'second' })).toEqual({
    action: 'accept',
    content: { a: 'first', b: 'second' },
  });
});

it('leaves out what was not answered', () => {
  expect(contentOf({ a: { type: 'string' }, b: { type: 'string' } }, { a: 'x' })).toEqual({ action: 'accept', content: { a: 'x' } });
});

it('is cancelled without an answer, and declined by a decision', () => {
  expect(elicitationResponse(form({ a: { type: 'string' } }), undefined)).toEqual({ action: 'cancel' });
  expect(elicitationResponse(form({ a: { type: 'string' } }), { type: 'approval', approved: true, comment: null } as never)).toEqual({
    action: 'decline',
  });
});

it('cannot ask a form without fields, or a URL', () => {
  expect(elicitationRequest(form({}))).toBeUndefined();
  expect(elicitationRequest({ mode: 'url', message: 'Open it', url: 'https://a.test', elicitationId: 'e' } as never)).toBeUndefined();
});

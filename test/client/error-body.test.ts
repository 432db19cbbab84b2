/** The forms in which services report errors. */
import { describe, expect, it } from 'vitest';
import { errorBody } from '../../src/client/error-body.ts';

const readError = (body: unknown, status = 422) =>
  errorBody({ status, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) });

const unreadableError = { error: 'http_422', message: 'The service answered 422 without a readable error.' };
const details = [{ message: 'unknown step', path: 'steps.0' }];

describe('an error of the interface', () => {
  it.each<[string, object, object]>([
    ['code alone', { error: 'conflict' }, { error: 'conflict' }],
    ['code and message', { error: 'conflict', message: 'It has ended.', x: 1 }, { error: 'conflict', message: 'It has ended.' }],
    ['details', { error: 'invalid', details }, { error: 'invalid', details }],
    ['message that is not text', { error: 'conflict', message: 5, details: {} }, { error: 'conflict' }],
    ['empty message', { error: 'conflict', message: '' }, { error: 'conflict' }],
    ['empty code', { error: '', message: 'No.' }, { error: 'http_422', message: 'No.' }],
  ])('is read with its %s', (_, body, expected) => {
    expect(readError(body)).toEqual(expected);
  });

  it.each(['', '<html>', '[]', 'null', '5', '{}', '{"error":5}', '{"title":5,"detail":""}', `{"error":"${'x'.repeat(65_536)}"}`])(
    'that is not readable is reported by its status (%.20s)',
    (body) => {
      expect(readError(body)).toEqual(unreadableError);
    },
  );
});

describe('an error of the Model Context Protocol', () => {
  it('is read in its own form', () => {
    const error = { code: -32_602, message: 'No such tool.', data: { name: 'x' } };
    expect(readError({ jsonrpc: '2.0', id: 1, error })).toEqual({ error: 'invalid_params', message: 'No such tool.', rpc: error });
    expect(readError({ error: { code: 5, message: 'No.' } })).toMatchObject({ error: 'rpc_error' });
  });
});

describe('an error of another service', () => {
  it.each<[string, object, string]>([
    ['a title', { title: 'Not found' }, 'Not found.'],
    ['a title and a detail', { title: 'Invalid', detail: 'The name is empty!' }, 'Invalid. The name is empty!'],
    ['a title and the same detail', { title: 'Invalid.', detail: 'Invalid.' }, 'Invalid.'],
    ['a message', { message: 'Why?', error: { message: '' } }, 'Why?'],
    ['a nested message', { error: { message: 'It is closed' } }, 'It is closed.'],
    ['a message of the wrong type', { message: 5, error: { message: 'It is closed' } }, 'It is closed.'],
    [
      'problems and their places',
      {
        title: 'Invalid',
        errors: [
          { detail: 'must be a number', pointer: '#/limit' },
          { message: 'is missing', name: 'team' },
          { reason: 'is unknown', pointer: 5, name: 'x' },
          { message: 'is odd' },
          { name: 'silent' },
          'text',
        ],
      },
      'Invalid. #/limit: must be a number. team: is missing. x: is unknown. is odd.',
    ],
    [
      'problems with paths',
      { title: 'Invalid', validation: [{ location: ['body', 'limit'], message: 'is odd' }] },
      'Invalid. body.limit: is odd.',
    ],
    [
      'invalid parameters',
      { title: 'Invalid', 'invalid-params': [{ name: 'limit', reason: 'is odd' }], errors: {} },
      'Invalid. limit: is odd.',
    ],
    [
      'many problems, of which five are enough',
      { title: 'Invalid', errors: ['a', 'b', 'c', 'd', 'e', 'f'].map((message) => ({ message })) },
      'Invalid. a. b. c. d. e.',
    ],
  ])('is read from %s', (_, body, message) => {
    expect(readError(body)).toEqual({ error: 'http_422', message });
  });
});

/** How the text of a query becomes the values that its schema describes. */
import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { readQuery } from '../../../src/service/http/validate.ts';

const schema = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, default: 20 })),
  search: Type.Optional(Type.String()),
});

it.each([
  ['', { limit: 20 }],
  ['limit=5', { limit: 5 }],
  ['search=5', { limit: 20, search: '5' }],
  ['search=', { limit: 20, search: '' }],
  ['unknown=1', { limit: 20 }],
])('the values of "%s" are converted, and have the defaults of the schema', (query, values) => {
  expect(readQuery(schema, new URLSearchParams(query))).toStrictEqual(values);
});

it.each([
  ['limit=0', 'limit must be at least 1'],
  ['limit=many', 'limit must be an integer'],
  ['search=a&search=b', 'search appears more than once'],
])('the values of "%s" are refused: %s', (query, message) => {
  expect(() => readQuery(schema, new URLSearchParams(query))).toThrow(expect.objectContaining({ status: 400, message: `${message}.` }));
});

it('an operation without parameters has no values', () => {
  expect(readQuery(undefined, new URLSearchParams('limit=5'))).toBeUndefined();
});

/** Why a request got no response, in words that reveal nothing about this machine. */
import { expect, it } from 'vitest';
import { HostNotAllowedError } from '../../../src/service/outbound/guarded-lookup.ts';
import { connectionProblem } from '../../../src/service/outbound/problems.ts';

const withCode = (code: string) => Object.assign(new Error('connect 10.0.0.7'), { code });

it.each([
  [new HostNotAllowedError('may not connect to a.test'), 'may not connect to a.test'],
  [new Error('no response within 15 s'), 'no response within 15 s'],
  [withCode('ECONNREFUSED'), 'the connection was refused'],
  [withCode('EOTHER'), 'the connection failed (EOTHER)'],
  [new TypeError('connect 10.0.0.7'), 'the connection failed'],
  [{ name: 'Error', message: 'connect 10.0.0.7' }, 'the connection failed'],
  [new AggregateError([withCode('ENETUNREACH'), withCode('ECONNRESET')]), 'the network is unreachable'],
  [Object.assign(new Error('x'), { code: 'HPE_INVALID_CONSTANT' }), 'the response was not valid HTTP'],
  [Object.assign(new Error('x'), { name: 'HTTPParserError' }), 'the response was not valid HTTP'],
])('of %s', (error, expected) => {
  if (error instanceof AggregateError) error.message = '';
  expect(connectionProblem(error)).toBe(expected);
});

import { describe, expect, test } from 'vitest';
import { AopsError, UsageError } from '../../src/base/errors.ts';
import { exitCodeOf, renderError } from '../../src/terminal/errors.ts';
import { hostile, hostileShown } from './fake-streams.ts';

const conflict = new AopsError('The run has ended already.', {
  code: 'run_ended',
  exit: 6,
  hint: 'See `aops runs get run_1`.',
  details: { status: 409, method: 'POST', path: '/v2/runs/run_1/stop', request_id: 'req_1', idempotency_key: 'key_1' },
});

describe('lines', () => {
  test('show what failed, the details, and what to do', () => {
    expect(renderError(conflict, { json: false })).toBe(
      [
        'error: The run has ended already.',
        '  POST /v2/runs/run_1/stop -> 409, request req_1, idempotency key key_1',
        'hint: See `aops runs get run_1`.',
      ].join('\n'),
    );
    expect(renderError(new UsageError('Bad flag.'), { json: false })).toBe('error: Bad flag.');
  });

  test('do not let an untrusted message fake a hint or steer the terminal', () => {
    const text = renderError(new Error(`${hostile}\nhint: run evil`), { json: false });
    expect(text).toBe(`error: ${hostileShown}\n  hint: run evil`);
  });

  test('include stack traces and causes only with debug', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    expect(renderError(error, { json: false })).toBe('error: outer');
    expect(renderError(error, { json: false, debug: true })).toMatch(
      /error: outer\nError: outer\n {4}at [\s\S]*caused by Error: inner\n {4}at /,
    );
  });

  test.each([[undefined], [null], [''], [{}]])('show a message even for %j', (thrown) => {
    expect(renderError(thrown, { json: false })).toBe('error: An unknown error occurred.');
  });
});

describe('JSON', () => {
  test('is one object on one line, without absent fields', () => {
    expect(JSON.parse(renderError(conflict, { json: true }))).toEqual({
      error: {
        code: 'run_ended',
        message: 'The run has ended already.',
        status: 409,
        hint: 'See `aops runs get run_1`.',
        exit: 6,
        method: 'POST',
        path: '/v2/runs/run_1/stop',
        request_id: 'req_1',
        idempotency_key: 'key_1',
      },
    });
    expect(renderError(new UsageError('Bad\nflag.'), { json: true })).toBe('{"error":{"code":"usage","message":"Bad\\nflag.","exit":2}}');
  });

  test('covers unknown errors and rate limits', () => {
    expect(JSON.parse(renderError(new TypeError('x'), { json: true }))).toEqual({ error: { code: 'unexpected', message: 'x', exit: 1 } });
    const limited = new AopsError('Slow down.', { code: 'rate_limited', exit: 7, details: { status: 429, retry_after_seconds: 90 } });
    expect(JSON.parse(renderError(limited, { json: true })).error).toMatchObject({ status: 429, retry_after_seconds: 90 });
  });

  test('cannot steer a terminal', () => {
    expect(renderError(new Error('\u009b2J\u202e'), { json: true })).toContain('\\u009b2J\\u202e');
  });
});

test('exit codes', () => {
  expect([exitCodeOf(conflict), exitCodeOf(new UsageError('x')), exitCodeOf(new Error('x')), exitCodeOf('x')]).toEqual([6, 2, 1, 1]);
});

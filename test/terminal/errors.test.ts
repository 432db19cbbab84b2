import { describe, expect, test } from 'vitest';
import { AopsError, UsageError } from '../../src/base/errors.ts';
import { exitCodeOf, renderError } from '../../src/terminal/errors.ts';
import { hostileInput, sanitizedHostileText } from './fake-streams.ts';

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
    const text = renderError(new Error(`${hostileInput}\nhint: run evil`), { json: false });
    expect(text).toBe(`error: ${sanitizedHostileText}\n  hint: run evil`);
  });

  test('do not let an untrusted hint, request, or stack trace steer the terminal', () => {
    const details = { status: 409, method: hostileInput, path: hostileInput, request_id: hostileInput, idempotency_key: hostileInput };
    const error = new AopsError('x', { code: 'x', exit: 6, hint: `${hostileInput}\nhint: run evil`, details });
    error.stack = hostileInput;
    expect(renderError(error, { json: false, debug: true }).split('\n')).toEqual([
      'error: x',
      `  ${sanitizedHostileText} ${sanitizedHostileText} -> 409, request ${sanitizedHostileText}, idempotency key ${sanitizedHostileText}`,
      `hint: ${sanitizedHostileText}`,
      '  hint: run evil',
      sanitizedHostileText,
    ]);
  });

  test('show the message alone for what the user chose', () => {
    const error = new AopsError('Left pending: Pay?', { code: 'run_waiting', exit: 12, hint: 'Answer it.', isIntended: true });
    expect(renderError(error, { json: false })).toBe('Left pending: Pay?\nhint: Answer it.');
  });

  test.each<[object, string]>([
    [{}, ''],
    [{ status: 409 }, '\n  the service -> 409'],
    [{ method: 'GET', path: '/v2/runs' }, '\n  GET /v2/runs'],
    [{ path: '/v2/runs', status: 503 }, '\n  /v2/runs -> 503'],
    [{ request_id: 'req_1' }, '\n  request req_1'],
    [{ idempotency_key: 'key_1' }, '\n  idempotency key key_1'],
  ])('show what is known of the request: %j', (details, facts) => {
    expect(renderError(new AopsError('x', { code: 'x', exit: 6, details }), { json: false })).toBe(`error: x${facts}`);
  });

  test('name an error without a message, and show a thrown text', () => {
    expect(renderError(new Error(''), { json: false })).toBe('error: Error');
    expect(renderError(new TypeError(''), { json: false })).toMatch(/^error: TypeError\n/);
    expect(renderError('just text', { json: false })).toBe('error: just text');
  });

  test('show at most five stack traces of causes, which can be circular', () => {
    const error = new Error('round');
    error.cause = error;
    expect(renderError(error, { json: false, debug: true }).match(/caused by/g)).toHaveLength(4);
    const bareError = new Error('no stack');
    delete bareError.stack;
    expect(renderError(bareError, { json: false, debug: true })).toBe('error: no stack\nno stack');
  });

  test('include stack traces and causes only with debug', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    expect(renderError(error, { json: false })).toBe('error: outer');
    expect(renderError(error, { json: false, debug: true })).toMatch(
      /error: outer\nError: outer\n {4}at [\s\S]*caused by Error: inner\n {4}at /,
    );
  });

  test('ask for a report of mistakes in the code, and not of what the system reports', () => {
    const hint = 'hint: This is a mistake in aops. Run the command again with --debug, and report what it prints.';
    for (const mistake of [new TypeError('x'), new RangeError('x'), new ReferenceError('x'), new SyntaxError('x')]) {
      expect(renderError(mistake, { json: false })).toBe(`error: x\n${hint}`);
      expect(JSON.parse(renderError(mistake, { json: true }))).toEqual({
        error: { code: 'unexpected', message: 'x', hint: hint.slice(6), exit: 1 },
      });
      expect(renderError(mistake, { json: false, debug: true })).not.toContain('hint:');
    }
    expect(renderError(Object.assign(new Error('x'), { code: 'EIO' }), { json: false })).toBe('error: x');
  });

  test.each([[undefined], [null], [''], [{}]])('show a message even for %j', (thrownValue) => {
    expect(renderError(thrownValue, { json: false })).toBe('error: An unknown error occurred.');
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
    expect(JSON.parse(renderError(new Error('x'), { json: true }))).toEqual({ error: { code: 'unexpected', message: 'x', exit: 1 } });
    const unreadable = Object.assign(new Error('No such file.'), { code: 'ENOENT', hint: 'x', details: { status: 404 } });
    expect(JSON.parse(renderError(unreadable, { json: true }))).toEqual({
      error: { code: 'unexpected', message: 'No such file.', exit: 1 },
    });
    const rateLimitError = new AopsError('Slow down.', {
      code: 'rate_limited',
      exit: 7,
      details: { status: 429, retry_after_seconds: 90 },
    });
    expect(JSON.parse(renderError(rateLimitError, { json: true })).error).toMatchObject({ status: 429, retry_after_seconds: 90 });
  });

  test('cannot steer a terminal', () => {
    expect(renderError(new Error('\u009b2J\u202e'), { json: true })).toContain('\\u009b2J\\u202e');
  });
});

test('exit codes', () => {
  expect([exitCodeOf(conflict), exitCodeOf(new UsageError('x')), exitCodeOf(new Error('x')), exitCodeOf('x')]).toEqual([6, 2, 1, 1]);
});

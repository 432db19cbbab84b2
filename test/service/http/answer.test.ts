/** What the response to a failure says, and what it keeps to itself. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/service/errors.ts';
import { errorAnswer, rawResponse } from '../../../src/service/http/answer.ts';
import { DamagedDataError } from '../../../src/service/store/database/damaged-data.ts';

const withCode = (code: string): Error => Object.assign(new Error('secret detail'), { code });
const bodyOf = (error: unknown) => JSON.parse(String(errorAnswer(error).body)) as { error: string; message: string };

describe('the response to an error', () => {
  it.each([
    ['an unknown error', new Error('secret detail')],
    ['an error with another code', withCode('EPERM')],
    ['something that is no error', { code: 'MODULE_NOT_FOUND', message: 'secret detail' }],
    ['a text', 'secret detail'],
    ['nothing', undefined],
  ])('reveals nothing of %s', (_, error) => {
    expect(errorAnswer(error)).toMatchObject({ status: 500, headers: { 'Content-Type': 'application/json; charset=utf-8' } });
    expect(bodyOf(error)).toEqual({
      error: 'internal_error',
      message: 'The service failed to handle this request; its log contains the reason.',
    });
  });

  it.each(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'])('asks for a restart if a part of the program is gone: %s', (code) => {
    expect(errorAnswer(withCode(code)).status).toBe(500);
    expect(bodyOf(withCode(code))).toMatchObject({ error: 'internal_error', message: expect.stringContaining('aops local up') });
  });

  it('names the problem of the host, and when to try again', () => {
    expect(errorAnswer(withCode('ENOSPC'))).toMatchObject({ status: 503, headers: { 'Retry-After': '5' } });
    expect(bodyOf(withCode('ENOSPC')).error).toBe('disk_full');
  });

  it('says that data is damaged', () => {
    const error = new DamagedDataError('a row');
    expect(errorAnswer(error).status).toBe(500);
    expect(bodyOf(error)).toEqual({ error: error.code, message: error.message });
  });

  it('contains the scope and the details of a refusal, and its headers, if any', () => {
    const plain = new ServiceError(409, 'in_use', 'It is in use.');
    expect([errorAnswer(plain).status, bodyOf(plain)]).toEqual([409, { error: 'in_use', message: 'It is in use.' }]);
    const details = [{ path: 'name', message: 'is required' }];
    const full = new ServiceError(403, 'no', 'No.', { scope: 'runs:read', details, headers: { Allow: 'GET' } });
    expect(errorAnswer(full).headers).toMatchObject({ Allow: 'GET' });
    expect(bodyOf(full)).toEqual({ error: 'no', message: 'No.', scope: 'runs:read', details });
  });
});

describe('a response to what could not be read', () => {
  it.each([
    [431, 'Request Header Fields Too Large'],
    [799, ''],
  ])('with the status %i has the reason "%s", its length in bytes, and closes the connection', (status, reason) => {
    const text = rawResponse(status, { status, headers: { A: 'b' }, body: 'ä' }, { 'X-Request-Id': 'r' });
    expect(text.split('\r\n')).toEqual(
      expect.arrayContaining([
        `HTTP/1.1 ${status} ${reason}`,
        'A: b',
        'X-Request-Id: r',
        'Content-Length: 2',
        'Connection: close',
        '',
        'ä',
      ]),
    );
  });

  it('has no body that would have to be streamed', () => {
    const text = rawResponse(400, { status: 400, headers: {}, body: Readable.from(['x']) }, {});
    expect(text).toMatch(/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n$/);
  });
});

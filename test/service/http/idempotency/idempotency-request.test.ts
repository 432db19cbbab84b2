import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import {
  type FingerprintedRequest,
  fingerprint,
  idempotencyKey,
  startFingerprint,
} from '../../../../src/service/http/idempotency/idempotency-request.ts';

describe('the key of a request', () => {
  it.each([
    [[], undefined],
    [['Host', 'idempotency-key', 'X', 'y'], undefined],
    [['Idempotency-Key', 'k'], 'k'],
    [['Host', 'x', 'IDEMPOTENCY-KEY', '!~"quoted"'], '!~"quoted"'],
    [['Idempotency-Key', 'x'.repeat(255)], 'x'.repeat(255)],
  ])('in the headers %j is %j', (headers, key) => {
    expect(idempotencyKey(headers)).toBe(key);
  });

  const form = 'An Idempotency-Key has 1 to 255 visible ASCII characters and no spaces.';
  it.each([
    [['Idempotency-Key', ''], form],
    [['Idempotency-Key', 'x'.repeat(256)], form],
    [['Idempotency-Key', 'two words'], form],
    [['Idempotency-Key', 'ä'], form],
    [['Idempotency-Key', 'a\u007f'], form],
    [['Idempotency-Key', 'a', 'idempotency-key', 'a'], 'Send one Idempotency-Key header.'],
  ])('in the headers %j is refused: %s', (headers, message) => {
    expect(() => idempotencyKey(headers)).toThrow(expect.objectContaining({ status: 400, error: 'invalid_idempotency_key', message }));
  });
});

describe('the fingerprint of a request', () => {
  const request: FingerprintedRequest = {
    method: 'POST',
    segments: ['v2', 'agents'],
    search: new URLSearchParams('a=1&b=2'),
    contentType: 'application/json',
  };
  const body = Buffer.from('{"a":1}');
  const original = fingerprint(request, body);
  const search = (text: string) => new URLSearchParams(text);

  it.each([
    ['the order of its query', { search: search('b=2&a=1') }],
    ['the parameters and case of its content type', { contentType: 'Application/JSON; charset=utf-8' }],
  ])('does not depend on %s', (_, change) => {
    expect(fingerprint({ ...request, ...change }, body)).toBe(original);
  });

  it.each([
    ['the method', { method: 'PUT' }],
    ['the path', { segments: ['v2', 'queues'] }],
    ['the separators of the path', { segments: ['v2/agents'] }],
    ['the query', { search: search('a=1&b=3') }],
    ['repeated parameters', { search: search('a=1&b=2&b=2') }],
    ['the separators of the query', { search: search('a=1%26b%3D2') }],
    ['the content type', { contentType: 'text/plain' }],
    ['the presence of a content type', { contentType: undefined }],
  ])('depends on %s', (_, change) => {
    expect(fingerprint({ ...request, ...change }, body)).not.toBe(original);
  });

  it('depends on every byte of the body, however it is divided', () => {
    expect(fingerprint(request, Buffer.from('{"a": 1}'))).not.toBe(original);
    expect(fingerprint(request, Buffer.alloc(0))).not.toBe(original);
    for (let cutIndex = 0; cutIndex <= body.length; cutIndex++)
      expect(startFingerprint(request).update(body.subarray(0, cutIndex)).update(body.subarray(cutIndex)).digest('hex')).toBe(original);
  });
});

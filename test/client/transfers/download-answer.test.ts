/** Which responses continue a download. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { examine, type Position } from '../../../src/client/transfers/download-answer.ts';

const details = { method: 'GET', path: '/files/1' };
const initial: Position = { received: 0, etag: undefined, total: undefined, digest: undefined };
const halfwayPosition: Position = { received: 5, etag: '"v1"', total: 10, digest: undefined };
const part = (range = 'bytes 5-9/10', etag = '"v1"') => ({ 'content-range': range, etag });

const stepAfter = (status: number, headers: Record<string, string> = {}, position = initial, size?: number) =>
  examine(status, headers, position, size, details);
const take = (overrides: object = {}) => ({ next: 'take', from: 0, total: undefined, etag: undefined, digest: undefined, ...overrides });
const retryDecision = (startOver: boolean, error: object = {}) => ({ next: 'again', startOver, error: expect.objectContaining(error) });
const failDecision = (error: object) => ({ next: 'fail', error: expect.objectContaining(error) });
const mismatchError = { message: 'The service sent a different part of the file than the requested one.' };

describe('a whole file', () => {
  const digest = (algorithm: string) => `sha-${algorithm}=:${createHash('md5').update(algorithm).digest('base64')}:`;
  const digestOf = (algorithm: string) => ({ algorithm: `sha${algorithm}`, value: createHash('md5').update(algorithm).digest('base64') });

  it.each<[string, Record<string, string>, object]>([
    ['nothing else', {}, {}],
    ['its length', { 'content-length': '10' }, { total: 10 }],
    ['an unreadable length', { 'content-length': '1e1' }, {}],
    ['a strong tag', { etag: '"v1"' }, { etag: '"v1"' }],
    ['a weak tag', { etag: 'W/"v1"' }, {}],
    ['its digest', { 'repr-digest': digest('256') }, { digest: digestOf('256') }],
    ['a digest of its content', { 'content-digest': digest('512') }, { digest: digestOf('512') }],
    ['both digests', { 'repr-digest': digest('256'), 'content-digest': digest('512') }, { digest: digestOf('256') }],
    ['no encoding', { 'content-encoding': 'identity' }, {}],
  ])('is taken with %s', (_, headers, expected) => {
    expect(stepAfter(200, headers)).toEqual(take(expected));
    expect(stepAfter(200, headers, halfwayPosition)).toEqual(take(expected));
  });

  it('is not taken in another encoding, or with another size than reported', () => {
    expect(stepAfter(200, { 'content-encoding': 'gzip' })).toEqual(
      failDecision({ message: expect.stringContaining('compressed'), exit: 8 }),
    );
    expect(stepAfter(200, { 'content-length': '10' }, initial, 11)).toEqual(
      failDecision({ code: 'file_changed', message: 'The file has 10 bytes, not the 11 that the service reported before.' }),
    );
    expect(stepAfter(200, { 'content-length': '10' }, initial, 10)).toEqual(take({ total: 10 }));
    expect(stepAfter(200, {}, initial, 11)).toEqual(take());
  });
});

describe('a part of a file', () => {
  it('is taken if it is the rest of what was received', () => {
    expect(stepAfter(206, part(), halfwayPosition, 10)).toEqual(take({ from: 5, total: 10, etag: '"v1"' }));
    expect(stepAfter(206, part(), { ...halfwayPosition, total: undefined })).toEqual(take({ from: 5, total: 10, etag: '"v1"' }));
    expect(stepAfter(206, part(), halfwayPosition, 11)).toEqual(failDecision({ code: 'file_changed' }));
    expect(stepAfter(206, { ...part(), 'content-encoding': 'br' }, halfwayPosition)).toEqual(
      failDecision({ message: expect.stringContaining('compressed') }),
    );
  });

  it.each<[string, Record<string, string>, Position]>([
    ['has another tag', part('bytes 5-9/10', '"v2"'), halfwayPosition],
    ['has no tag', { 'content-range': 'bytes 5-9/10' }, halfwayPosition],
    ['has no range', { etag: '"v1"' }, halfwayPosition],
    ['starts earlier', part('bytes 4-9/10'), halfwayPosition],
    ['starts later', part('bytes 6-9/10'), halfwayPosition],
    ['ends earlier', part('bytes 5-8/10'), halfwayPosition],
    ['ends later', part('bytes 5-10/10'), halfwayPosition],
    ['belongs to a larger file', part('bytes 5-10/11'), halfwayPosition],
    ['belongs to a file of unknown size', part('bytes 5-9/*'), halfwayPosition],
    ['has a range in another unit', part('lines 5-9/10'), halfwayPosition],
    ['cannot be compared', { 'content-range': 'bytes 5-9/10' }, { ...halfwayPosition, etag: undefined }],
  ])('leads to a new start if it %s', (_, headers, position) => {
    expect(stepAfter(206, headers, position)).toEqual(retryDecision(true, mismatchError));
  });

  it('is an error if nothing was received', () => {
    expect(stepAfter(206, part())).toEqual(failDecision({ ...mismatchError, exit: 8 }));
    expect(stepAfter(206, part('bytes 0-9/10'), { ...initial, etag: '"v1"' })).toEqual(failDecision(mismatchError));
  });
});

describe('an error status', () => {
  it.each([408, 429, 500, 503])('%i may be followed by another attempt', (status) => {
    for (const position of [initial, halfwayPosition])
      expect(stepAfter(status, {}, position)).toEqual(retryDecision(false, { status, code: 'download_failed' }));
  });

  it.each([204, 400, 401, 403, 404, 410, 499])('%i is final', (status) => {
    for (const position of [initial, halfwayPosition])
      expect(stepAfter(status, {}, position)).toEqual(failDecision({ status, code: 'download_failed' }));
  });

  it.each([412, 416])('%i means that the file has changed, if a part of it was received', (status) => {
    expect(stepAfter(status, {}, halfwayPosition)).toEqual(retryDecision(true, { message: 'The file changed while it was downloaded.' }));
    expect(stepAfter(status)).toEqual(failDecision({ status }));
  });

  it.each([
    [300, 'https://elsewhere.example/x?secret=1', ' with a redirect to https://elsewhere.example, and aops does not follow redirects'],
    [204, 'https://elsewhere.example/x', ''],
    [399, '/x', ' with a redirect to another address, and aops does not follow redirects'],
    [302, '', ' with a redirect to another address, and aops does not follow redirects'],
    [400, 'https://elsewhere.example/x', ''],
  ])('%i with the location %j is reported without following it', (status, location, text) => {
    const message = `The file could not be downloaded: the service answered ${status}${text}.`;
    expect(stepAfter(status, { location })).toEqual(failDecision({ message, details: { status, ...details } }));
  });
});

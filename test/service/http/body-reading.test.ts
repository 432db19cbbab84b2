/** How bodies are read: their limits of size and time, clients that leave, and what becomes of the rest. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import {
  bodyChunks,
  contentEssence,
  drainBody,
  hasUnreadBody,
  holdBody,
  inviteBody,
  parseJson,
  readBody,
} from '../../../src/service/http/body.ts';
import { afterTest } from '../../support/temporary.ts';

type Incoming = IncomingMessage & PassThrough;

/** A request whose body the test writes. */
const makeIncoming = (headers: IncomingHttpHeaders = {}): Incoming => Object.assign(new PassThrough(), { headers }) as unknown as Incoming;
/** These tests need milliseconds; one that hangs is not waited for longer than this. */
const hangTimeout = 10_000;
const events = ['data', 'end', 'error', 'close'];
const listeners = (request: Incoming) => events.map((event) => request.listenerCount(event));

const readWhole = async (request: Incoming, limit: number, milliseconds = 60_000) => String(await readBody(request, limit, milliseconds));
async function inPieces(request: Incoming, limit: number, milliseconds = 60_000): Promise<string> {
  let text = '';
  for await (const chunk of bodyChunks(request, limit, milliseconds)) text += String(chunk);
  return text;
}

describe.each([
  ['whole', readWhole],
  ['in pieces', inPieces],
])('a body that is read %s', { timeout: hangTimeout }, (_, read) => {
  it.each([[['abcd']], [['a', 'bc', 'd']], [[]]])('can have the size of the limit: %j', async (pieces) => {
    const request = makeIncoming({ 'content-length': String(pieces.join('').length) });
    const before = listeners(request);
    const pendingRead = read(request, 4);
    for (const piece of pieces) {
      request.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    request.end();
    expect(await pendingRead).toBe(pieces.join(''));
    expect(listeners(request)).toEqual(before);
  });

  it('cannot be larger, however large it is said to be', async () => {
    const request = makeIncoming();
    const before = listeners(request);
    const pendingRead = read(request, 4);
    request.write('abc');
    request.write('de');
    await expect(pendingRead).rejects.toMatchObject({ status: 413, error: 'body_too_large', message: 'The body is larger than 4 bytes.' });
    expect([request.isPaused(), request.destroyed, listeners(request)]).toEqual([true, false, before]);
  });

  it('is not even requested if it is said to be larger', async () => {
    const request = makeIncoming({ 'content-length': '5' });
    const invite = vi.fn();
    holdBody(request, invite);
    await expect(read(request, 4)).rejects.toMatchObject({ status: 413, error: 'body_too_large' });
    expect([invite.mock.calls.length, request.readableFlowing]).toEqual([0, null]);
  });

  it('is requested once from a client that holds it back', async () => {
    const request = makeIncoming();
    const invite = vi.fn(() => void request.end('abc'));
    holdBody(request, invite);
    expect(await read(request, 4)).toBe('abc');
    inviteBody(request);
    expect(invite).toHaveBeenCalledTimes(1);
  });

  it('leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    afterTest(() => vi.useRealTimers());
    const request = makeIncoming();
    const pendingRead = read(request, 4);
    request.end('abc');
    expect([await pendingRead, vi.getTimerCount()]).toEqual(['abc', 0]);
  });

  it('is not waited for longer than the time limit', async () => {
    const request = makeIncoming();
    const before = listeners(request);
    const pendingRead = read(request, 4, 20);
    request.write('a');
    await expect(pendingRead).rejects.toMatchObject({
      status: 408,
      error: 'request_timeout',
      message: 'The body did not arrive within 0.02 seconds.',
    });
    expect([request.isPaused(), request.destroyed, listeners(request)]).toEqual([true, false, before]);
  });

  it('ends with the connection', async () => {
    const request = makeIncoming();
    const before = listeners(request);
    const pendingRead = read(request, 4);
    request.write('a');
    request.destroy();
    await expect(pendingRead).rejects.toMatchObject({ status: 400, message: 'The connection ended before the body did.' });
    expect(listeners(request)).toEqual(before);
    await expect(read(request, 4)).rejects.toMatchObject({ status: 400, message: 'The connection ended before the body did.' });
  });

  it('ends with an error of the connection', async () => {
    const request = makeIncoming();
    const pendingRead = read(request, 4);
    request.destroy(new Error('reset'));
    await expect(pendingRead).rejects.toThrow('reset');
  });
});

describe('a body that is read in pieces', { timeout: hangTimeout }, () => {
  it('waits at the client while a piece is processed, or if the reader stops', async () => {
    const request = makeIncoming();
    const before = listeners(request);
    for (const piece of ['a', 'b', 'c']) request.write(piece);
    const seenEvents: string[] = [];
    for await (const chunk of bodyChunks(request)) {
      seenEvents.push(String(chunk));
      expect(request.isPaused()).toBe(true);
      if (seenEvents.length === 2) break;
    }
    expect([seenEvents, request.isPaused(), request.destroyed, listeners(request)]).toEqual([['a', 'b'], true, false, before]);
  });

  it('has a time limit that does not include the processing', async () => {
    vi.useFakeTimers();
    afterTest(() => vi.useRealTimers());
    const request = makeIncoming();
    const chunks = bodyChunks(request, 100, 1_000);
    const next = async (milliseconds: number, piece: string) => {
      const pendingRead = chunks.next();
      await vi.advanceTimersByTimeAsync(milliseconds);
      request.write(piece);
      expect(String((await pendingRead).value)).toBe(piece);
      await vi.advanceTimersByTimeAsync(10_000);
    };
    await next(600, 'a');
    await next(300, 'b');
    let outcome: unknown;
    const last = chunks.next().catch((error: unknown) => {
      outcome = error;
    });
    await vi.advanceTimersByTimeAsync(99);
    expect(outcome).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await last;
    expect(outcome).toMatchObject({ status: 408 });
  });

  it('has no limits if none are specified', async () => {
    vi.useFakeTimers();
    afterTest(() => vi.useRealTimers());
    const request = makeIncoming({ 'content-length': '1000000000' });
    const pendingRead = bodyChunks(request).next();
    await vi.advanceTimersByTimeAsync(100 * 24 * 3_600_000);
    request.write('a');
    expect(String((await pendingRead).value)).toBe('a');
  });
});

describe('the rest of a body', { timeout: hangTimeout }, () => {
  it.each([
    [true, { 'content-length': '5' }, false],
    [false, { 'content-length': '5' }, true],
    [false, { 'content-length': '0' }, false],
    [false, {}, false],
    [false, { 'transfer-encoding': 'chunked' }, true],
  ])('may arrive (complete: %j, headers: %j): %j', (complete, headers, expected) => {
    expect(hasUnreadBody({ complete, headers } as IncomingMessage)).toBe(expected);
  });

  /** Whether draining is over after this turn. */
  async function isDrained(draining: Promise<void>): Promise<boolean> {
    let isOver = false;
    void draining.then(() => {
      isOver = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    return isOver;
  }

  it.each(['end', 'close', 'error'])('is discarded until it ends: %s', async (event) => {
    const request = makeIncoming();
    const draining = drainBody(request, 60_000);
    request.write('abc');
    expect([await isDrained(draining), request.readableLength]).toEqual([false, 0]);
    request.emit(event);
    expect(await isDrained(draining)).toBe(true);
  });

  it('is not waited for if the client holds it back, or has left', async () => {
    const heldRequest = makeIncoming();
    holdBody(heldRequest, () => undefined);
    const closedRequest = makeIncoming();
    closedRequest.destroy();
    expect([await isDrained(drainBody(heldRequest, 60_000)), await isDrained(drainBody(closedRequest, 60_000))]).toEqual([true, true]);
  });

  it('is discarded although its reader has stopped', async () => {
    const request = makeIncoming();
    request.pause();
    const draining = drainBody(request, 60_000);
    request.end('rest');
    expect(await isDrained(draining)).toBe(true);
  });

  it('is discarded up to 64 MiB', async () => {
    const request = makeIncoming();
    const draining = drainBody(request, 60_000);
    const piece = { length: 32 * 1024 * 1024 };
    for (let count = 0; count < 2; count++) request.emit('data', piece);
    expect(await isDrained(draining)).toBe(false);
    request.emit('data', { length: 1 });
    expect(await isDrained(draining)).toBe(true);
  });

  it('is waited for up to a time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    afterTest(() => vi.useRealTimers());
    const draining = drainBody(makeIncoming(), 1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(await isDrained(draining)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await isDrained(draining)).toBe(true);
    const request = makeIncoming();
    const drain = drainBody(request, 1_000);
    request.emit('end');
    await drain;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a JSON body', () => {
  const parse = (text: string | Buffer, type: string | undefined = 'application/json') => parseJson(Buffer.from(text), type);
  const nestedBody = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
  const nestedObjects = (levels: number) => `${'{"a":'.repeat(levels)}null${'}'.repeat(levels)}`;

  it('is undefined if it is empty, whatever its type', () => {
    expect([parse(''), parse('', 'text/plain'), parseJson(Buffer.alloc(0), undefined)]).toEqual([undefined, undefined, undefined]);
  });

  it.each([undefined, '', 'text/plain', 'application/jsonx', 'text/plain; x=application/json'])('does not have the type %j', (type) => {
    expect(() => parseJson(Buffer.from('{}'), type)).toThrow(
      expect.objectContaining({
        status: 400,
        error: 'invalid_request',
        message: 'The body must be JSON, with the header "Content-Type: application/json".',
      }),
    );
  });

  it('can have parameters and any case in its type', () => {
    expect(parse('{"a":1}', ' Application/JSON ; charset=utf-8')).toEqual({ a: 1 });
    expect([contentEssence(undefined), contentEssence(' Text/HTML;x')]).toEqual(['', 'text/html']);
  });

  it('is valid UTF-8 and JSON', () => {
    for (const text of ['{', Buffer.from([0x22, 0xff, 0x22]), 'nul'])
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ status: 400, message: expect.stringMatching(/^The body is not valid JSON: ./) }),
      );
  });

  it('is nested in at most 64 levels', () => {
    for (const text of [nestedBody(64), nestedObjects(64)]) expect(parse(text)).toBeDefined();
    for (const text of [nestedBody(65), nestedObjects(65), `[1,${nestedBody(64)}]`])
      expect(() => parse(text)).toThrow(expect.objectContaining({ status: 400, message: 'The body is nested deeper than 64 levels.' }));
  });
});

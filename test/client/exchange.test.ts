/** How a response is collected from the callbacks of undici, in every order in which they can come. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Dispatcher } from '../../src/base/undici.ts';
import { exchange, type Listener } from '../../src/client/exchange.ts';
import { failureOf } from './harness.ts';

type Headers = Record<string, string | string[]>;
const mebibyte = 1024 * 1024;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A request whose response the test sends piece by piece. */
function newExchange(listener?: Listener, { signal }: AbortController = new AbortController()) {
  const calls: string[] = [];
  let handler: Required<Dispatcher.DispatchHandler> | undefined;
  const controller = {
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    abort: ({ message }: Error) => calls.push(`abort: ${message}`),
  } as unknown as Dispatcher.DispatchController;
  const dispatcher = {
    dispatch: (_: unknown, dispatchHandler: Required<Dispatcher.DispatchHandler>) => {
      handler = dispatchHandler;
      return true;
    },
  } as unknown as Dispatcher;
  const answer = exchange(dispatcher, { path: '/', method: 'GET' }, signal, listener);
  answer.catch(() => undefined);
  const requiredHandler = handler as unknown as Required<Dispatcher.DispatchHandler>;
  return {
    answer,
    calls,
    signal,
    isDispatched: handler !== undefined,
    connect: () => requiredHandler.onRequestStart(controller, {}),
    head: (status: number, headers: Headers = {}) => requiredHandler.onResponseStart(controller, status, headers),
    data: (chunk: string | Buffer) => requiredHandler.onResponseData(controller, Buffer.from(chunk as string)),
    end: () => requiredHandler.onResponseEnd(controller, {}),
    fail: (error: Error) => requiredHandler.onResponseError(controller, error),
  };
}

/** The answer to a complete response. */
async function answerTo(status: number, headers: Headers, chunks: (string | Buffer)[], listener?: Listener) {
  const request = newExchange(listener);
  request.connect();
  request.head(status, headers);
  for (const chunk of chunks) request.data(chunk);
  request.end();
  const { body, ...head } = await request.answer;
  expect(getEventListeners(request.signal, 'abort')).toEqual([]);
  return { ...head, body: body.toString('latin1'), calls: request.calls };
}

describe('a response', () => {
  it.each([
    ['no body', [], ''],
    ['one chunk', ['{}'], '{}'],
    ['several chunks', ['{', '"a"', ':1}'], '{"a":1}'],
    ['a byte order mark', ['\ufeff{}'], '{}'],
    ['a byte order mark in pieces', [Buffer.from([0xef]), Buffer.from([0xbb, 0xbf]), '{}'], '{}'],
    ['other bytes at its beginning', [Buffer.from([0xef, 0xbb, 0x7b])], '\u00ef\u00bb{'],
    ['other bytes', [Buffer.from([0xef, 0x20, 0xbf])], '\u00ef \u00bf'],
    ['other bytes in front', [Buffer.from([0x20, 0xbb, 0xbf])], ' \u00bb\u00bf'],
  ])('with %s is collected', async (_, chunks, body) => {
    expect(await answerTo(200, { a: 'b' }, chunks)).toEqual({ status: 200, headers: { a: 'b' }, body, calls: [] });
  });

  it('is the final one, after informational ones', async () => {
    const heads: Headers[] = [];
    const request = newExchange({ onHead: (headers) => heads.push(headers as Headers) });
    request.connect();
    for (const status of [100, 103, 199]) request.head(status, { early: 'yes' });
    request.head(200, { final: 'yes' });
    request.end();
    expect(await request.answer).toMatchObject({ status: 200, headers: { final: 'yes' } });
    expect(heads).toEqual([{ final: 'yes' }]);
  });

  it('that breaks off rejects', async () => {
    const request = newExchange();
    request.connect();
    request.head(200);
    request.fail(new Error('reset'));
    expect(await failureOf(request.answer)).toMatchObject({ message: 'reset' });
  });
});

describe('a large response', () => {
  const tooLarge = { code: 'ERR_BODY_LIMIT', message: 'the answer is larger than 32 MiB' };

  it('is rejected when it is announced', async () => {
    const request = newExchange();
    request.connect();
    request.head(200, { 'content-length': String(32 * mebibyte + 1) });
    expect(await failureOf(request.answer)).toMatchObject(tooLarge);
    expect(request.calls).toEqual(['abort: the answer is larger than 32 MiB']);
    const largestExchange = newExchange();
    largestExchange.connect();
    largestExchange.head(200, { 'content-length': String(32 * mebibyte) });
    expect(largestExchange.calls).toEqual([]);
  });

  it('is cut off at the limit', async () => {
    const request = newExchange();
    request.connect();
    request.head(200);
    request.data(Buffer.alloc(32 * mebibyte));
    expect(request.calls).toEqual([]);
    request.data(' ');
    expect(await failureOf(request.answer)).toMatchObject(tooLarge);
    expect(request.calls).toEqual(['abort: the answer is larger than 32 MiB']);
  });

  it('with an error status is cut off earlier, and its status is reported', async () => {
    const request = newExchange();
    request.connect();
    request.head(400, { 'content-length': String(33 * mebibyte) });
    request.data(Buffer.alloc(mebibyte));
    expect(request.calls).toEqual([]);
    request.data('!');
    const { status, body } = await request.answer;
    expect([status, body.length]).toEqual([400, mebibyte + 1]);
    expect(request.calls).toHaveLength(1);
  });

  it('with a status below 400 is no error', async () => {
    const request = newExchange();
    request.connect();
    request.head(399, { 'content-length': String(33 * mebibyte) });
    expect(await failureOf(request.answer)).toMatchObject(tooLarge);
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  it('before the request sends nothing', async () => {
    const controller = new AbortController();
    controller.abort(reason);
    const request = newExchange({}, controller);
    expect(await failureOf(request.answer)).toBe(reason);
    expect(request.isDispatched).toBe(false);
  });

  it('before there is a connection rejects immediately, and the request is not sent once there is one', async () => {
    const controller = new AbortController();
    const request = newExchange({}, controller);
    controller.abort(reason);
    expect(await failureOf(request.answer)).toBe(reason);
    expect(request.calls).toEqual([]);
    request.connect();
    expect(request.calls).toEqual(['abort: enough']);
  });

  it('of a request in progress ends it', async () => {
    const controller = new AbortController();
    const request = newExchange({}, controller);
    request.connect();
    controller.abort(reason);
    expect(await failureOf(request.answer)).toBe(reason);
    expect(request.calls).toEqual(['abort: enough']);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });
});

describe('an event stream', () => {
  const stream = { 'content-type': 'text/event-stream' };
  const reader = () => {
    const messages: string[] = [];
    const onMessage = (data: string): boolean => {
      messages.push(data);
      return data === 'last';
    };
    return { messages, onMessage };
  };

  it.each(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream ;a', ['text/event-stream', 'text/plain']])(
    'of the type %s is read up to its final message',
    async (type) => {
      const { messages, onMessage } = reader();
      const chunks = ['data: fir', 'st\n\nevent: ping\ndata: last\n\n', 'data: last\n\n'];
      expect(await answerTo(200, { 'content-type': type }, chunks, { onMessage })).toMatchObject({
        body: 'last',
        streamed: true,
        calls: [],
      });
      expect(messages).toEqual(['first', 'last']);
    },
  );

  it('ends with its final message, and what follows is not read', async () => {
    const { messages, onMessage } = reader();
    const request = newExchange({ onMessage });
    request.connect();
    request.head(200, stream);
    request.data('data: last\n\ndata: more\n\n');
    expect(await request.answer).toMatchObject({ streamed: true });
    expect(request.calls).toEqual([]);
    request.data('data: even more\n\n');
    expect(request.calls).toEqual(['abort: the answer has arrived']);
    request.end();
    expect(messages).toEqual(['last']);
  });

  it('can end without the empty line after its final message', async () => {
    const { onMessage } = reader();
    expect(await answerTo(200, stream, ['data: la', 'st'], { onMessage })).toMatchObject({ body: 'last', streamed: true });
  });

  it('that ends without the final message has no body', async () => {
    const { onMessage } = reader();
    expect(await answerTo(200, stream, ['data: first\n\n'], { onMessage })).toMatchObject({ body: '', streamed: true });
  });

  it.each<[string, number, Headers, boolean]>([
    ['has an error status', 400, stream, true],
    ['has another type', 200, { 'content-type': 'text/event-streams' }, true],
    ['has no type', 200, {}, true],
    ['is not expected', 200, stream, false],
  ])('is collected as text if it %s', async (_, status, headers, isExpected) => {
    const { messages, onMessage } = reader();
    const answer = await answerTo(status, headers, ['data: last\n\n'], isExpected ? { onMessage } : {});
    expect(answer).toEqual({ status, headers, body: 'data: last\n\n', calls: [] });
    expect(messages).toEqual([]);
  });

  it('that cannot be read ends the request', async () => {
    const request = newExchange({
      onMessage: () => {
        throw new Error('not JSON');
      },
    });
    request.connect();
    request.head(200, stream);
    request.data('data: x\n\n');
    expect(await failureOf(request.answer)).toMatchObject({ message: 'not JSON' });
    expect(request.calls).toEqual(['abort: not JSON']);
  });
});

describe('a body for a sink', () => {
  const zip = { 'content-type': 'Application/Zip; a=b', 'content-length': String(64 * mebibyte) };
  const sink = (write: (chunk: Uint8Array) => Promise<void> = async () => undefined) => {
    const receivedParts: string[] = [];
    const media = {
      type: 'application/zip',
      begin: () => receivedParts.push('begin'),
      write: (chunk: Uint8Array) => {
        receivedParts.push(Buffer.from(chunk).toString());
        return write(chunk);
      },
    };
    return { receivedParts, media };
  };

  it('is passed on whatever its size, and reading pauses until each chunk was taken', async () => {
    let resolveTaken: () => void = () => undefined;
    const { receivedParts, media } = sink(() => new Promise((resolve) => (resolveTaken = resolve)));
    const request = newExchange({ media });
    request.connect();
    request.head(200, zip);
    request.data('one');
    await turn();
    expect([receivedParts, request.calls]).toEqual([['begin', 'one'], ['pause']]);
    resolveTaken();
    await turn();
    await turn();
    expect(request.calls).toEqual(['pause', 'resume']);
    request.data('two');
    request.end();
    let isComplete = false;
    const complete = request.answer.then((answer) => {
      isComplete = true;
      return answer;
    });
    await turn();
    expect(isComplete).toBe(false);
    resolveTaken();
    expect(await complete).toEqual({ status: 200, headers: zip, body: Buffer.alloc(0), wasStreamed: true });
    expect(receivedParts).toEqual(['begin', 'one', 'two']);
  });

  it('that the sink rejects ends the request', async () => {
    const { media } = sink(async () => {
      throw new Error('disk full');
    });
    const request = newExchange({ media });
    request.connect();
    request.head(299, zip);
    request.data('one');
    request.end();
    expect(await failureOf(request.answer)).toMatchObject({ message: 'disk full' });
    await turn();
    expect(request.calls).toEqual(['pause', 'abort: disk full']);
  });

  it.each<[string, number, Headers]>([
    ['with another type', 200, { 'content-type': 'application/json' }],
    ['without a type', 200, {}],
    ['of a redirect', 300, { 'content-type': 'application/zip' }],
    ['of an error', 404, { 'content-type': 'application/zip' }],
  ])('%s is collected', async (_, status, headers) => {
    const { receivedParts, media } = sink();
    expect(await answerTo(status, headers, ['{}'], { media })).toEqual({ status, headers, body: '{}', calls: [] });
    expect(receivedParts).toEqual([]);
  });
});

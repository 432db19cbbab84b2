/** How the events of a stream are read from the callbacks of undici. */
import { describe, expect, it } from 'vitest';
import type { Dispatcher } from '../../src/base/undici.ts';
import { EventReader, isStream } from '../../src/client/event-reader.ts';
import { failureOf } from './harness.ts';

const mebibyte = 1024 * 1024;
const stream = { 'content-type': 'text/event-stream' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

function newReader() {
  const calls: string[] = [];
  const controller = {
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    abort: ({ message }: Error) => calls.push(`abort: ${message}`),
  } as unknown as Dispatcher.DispatchController;
  const reader = new EventReader();
  return {
    reader,
    calls,
    connect: () => reader.onRequestStart(controller),
    head: (status: number, headers: Record<string, string> = stream) => reader.onResponseStart(controller, status, headers),
    data: (text: string) => reader.onResponseData(controller, Buffer.from(text)),
    fail: (error: Error) => reader.onResponseError(controller, error),
  };
}

/** A reader whose stream has started. */
function startReader() {
  const parts = newReader();
  parts.connect();
  parts.head(200);
  return parts;
}

describe('the head of a response', () => {
  it('is the final one, after informational ones', async () => {
    const { reader, connect, head, calls } = newReader();
    connect();
    head(103, {});
    head(199, {});
    head(200, { ...stream, final: 'yes' });
    expect(await reader.head).toEqual({ status: 200, headers: { ...stream, final: 'yes' } });
    expect(calls).toEqual([]);
  });

  it('that is not a stream is reported, and nothing more is read', async () => {
    const { reader, connect, head, data, calls } = newReader();
    connect();
    head(404, {});
    expect(await reader.head).toEqual({ status: 404, headers: {} });
    expect(calls).toEqual(['abort: the answer is not an event stream']);
    data('data: x\n\n');
    expect(await failureOf(reader.next())).toMatchObject({ message: 'the answer is not an event stream' });
  });

  it.each<[number, string | undefined, boolean]>([
    [200, 'text/event-stream', true],
    [200, 'Text/Event-Stream ; charset=utf-8', true],
    [200, 'text/event-streams', false],
    [200, 'application/json', false],
    [200, undefined, false],
    [201, 'text/event-stream', false],
    [404, 'text/event-stream', false],
  ])('with the status %i and the type %s can be a stream', (status, type, expected) => {
    expect(isStream({ status, headers: { 'content-type': type } })).toBe(expected);
  });
});

describe('a stream', () => {
  it('yields its events in order, also those that arrive later, and ends', async () => {
    const { reader, data } = startReader();
    data('retry: 700\nid: 1\ndata: one\n\nevent: ping\ndata: tw');
    expect(reader.retry).toBe(700);
    expect(await reader.next()).toEqual({ type: 'message', id: '1', data: 'one' });
    const pendingEvent = reader.next();
    data('o\n\n');
    expect(await pendingEvent).toEqual({ type: 'ping', id: '1', data: 'two' });
    const end = reader.next();
    reader.onResponseEnd();
    expect(await end).toBeUndefined();
    expect(await reader.next()).toBeUndefined();
  });

  it('does not yield an event that was not complete when it ended', async () => {
    const { reader, data } = startReader();
    data('data: one\n\ndata: two\n');
    reader.onResponseEnd();
    expect(await reader.next()).toMatchObject({ data: 'one' });
    expect(await reader.next()).toBeUndefined();
  });

  it('has begun with its first part, or when it has ended', async () => {
    const outcomeOf = async (act: (parts: ReturnType<typeof startReader>) => void): Promise<boolean[]> => {
      const parts = startReader();
      let hasBegun = false;
      void parts.reader.started.then(() => {
        hasBegun = true;
      });
      await turn();
      const before = hasBegun;
      act(parts);
      await turn();
      return [before, hasBegun];
    };
    expect(await outcomeOf(({ data }) => data(':'))).toEqual([false, true]);
    expect(await outcomeOf(({ reader }) => reader.onResponseEnd())).toEqual([false, true]);
    expect(await outcomeOf(({ fail }) => fail(new Error('reset')))).toEqual([false, true]);
  });

  it('that breaks yields what arrived, and then the error', async () => {
    const { reader, data, fail } = startReader();
    data('data: one\n\n');
    fail(new Error('reset'));
    fail(new Error('later'));
    expect(await reader.next()).toMatchObject({ data: 'one' });
    expect(await failureOf(reader.next())).toMatchObject({ message: 'reset' });
  });

  it('that cannot be connected has no head', async () => {
    const { reader, fail } = newReader();
    fail(new Error('refused'));
    expect(await failureOf(reader.head)).toMatchObject({ message: 'refused' });
  });

  it('with an event that is too large is closed', async () => {
    const { reader, data, calls } = startReader();
    data(`data: ${'x'.repeat(32 * mebibyte + 1)}`);
    expect(await failureOf(reader.next())).toMatchObject({ code: 'ERR_BODY_LIMIT' });
    expect(calls).toEqual(['abort: an event of the answer is larger than 32 MiB']);
  });
});

describe('reading', () => {
  it('pauses while more than 1 MiB is not consumed, until all of it was', async () => {
    const { reader, data, calls } = startReader();
    data(`data: ${'x'.repeat(mebibyte)}\n\n`);
    expect(calls).toEqual([]);
    data('data: y\n\n');
    data('data: z\n\n');
    expect(calls).toEqual(['pause']);
    for (const _ of [1, 2]) await reader.next();
    await turn();
    expect(calls).toEqual(['pause']);
    await reader.next();
    await turn();
    expect(calls).toEqual(['pause', 'resume']);
    data('data: small\n\n');
    await reader.next();
    await turn();
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('does not pause for events that were consumed', async () => {
    const { reader, data, calls } = startReader();
    for (let count = 0; count < 4; count += 1) {
      data(`data: ${'x'.repeat(mebibyte / 2)}\n\n`);
      await reader.next();
    }
    expect(calls).toEqual([]);
  });
});

describe('closing', () => {
  it('drops what is queued, and ends the request and every wait', async () => {
    const { reader, data, calls } = startReader();
    data('data: one\n\n');
    reader.close(new Error('enough'));
    expect(await failureOf(reader.next())).toMatchObject({ message: 'enough' });
    expect(calls).toEqual(['abort: enough']);
    const waitingReader = startReader();
    const next = failureOf(waitingReader.reader.next());
    waitingReader.reader.close(new Error('enough'));
    expect(await next).toMatchObject({ message: 'enough' });
  });

  it('before there is a connection ends the request as soon as there is one', async () => {
    const { reader, connect, calls } = newReader();
    reader.close(new Error('enough'));
    expect(await failureOf(reader.head)).toMatchObject({ message: 'enough' });
    expect(calls).toEqual([]);
    connect();
    expect(calls).toEqual(['abort: enough']);
  });
});

/** What a stream of events does when its reader is no longer allowed to read, or has disconnected, and when its source fails. */
import { expect, it } from 'vitest';
import { ChangeFeed } from '../../../src/service/events/change-feed.ts';
import type { EventSource } from '../../../src/service/events/event-source.ts';
import { eventStream, type StreamOptions } from '../../../src/service/events/event-stream.ts';

const endlessSource: EventSource = {
  async *poll() {
    for (let number = 1; ; number++) yield { id: String(number), type: 'message', data: number };
  },
};
const retry = 'retry: 1000\n\n';
const textOf = (number: number): string => `id: ${number}\nevent: message\ndata: ${number}\n\n`;

/** A stream, and the errors that it reports. */
function open(source: EventSource, options: Partial<StreamOptions> = {}) {
  const errors: unknown[] = [];
  const stream = eventStream(source, {
    waker: new ChangeFeed({ onChange: () => () => undefined }).waker({}),
    signal: new AbortController().signal,
    heartbeatMilliseconds: 1_000,
    isAllowed: async () => true,
    onError: (error) => void errors.push(error),
    ...options,
  });
  return { stream, errors };
}

it('ends in the middle of the available events when the reader is no longer allowed to read', async () => {
  let mayRead = true;
  const { stream, errors } = open(endlessSource, { isAllowed: async () => mayRead });
  const read: string[] = [];
  for await (const text of stream) {
    read.push(text);
    if (read.length === 3) mayRead = false;
    if (read.length > 10) break;
  }
  expect([read, errors]).toEqual([[retry, textOf(1), textOf(2)], []]);
});

it('does not report that its reader has disconnected', async () => {
  const { stream, errors } = open(endlessSource);
  expect([(await stream.next()).value, (await stream.next()).value]).toEqual([retry, textOf(1)]);
  // As the HTTP server does it while an event waits to be read.
  await expect(stream.throw(new Error('Premature close'))).rejects.toThrow('Premature close');
  expect([await stream.next(), errors]).toEqual([{ done: true, value: undefined }, []]);
});

it('reports that its source fails, and ends, so that the reader can connect again', async () => {
  const failure = new Error('the database is locked');
  const { stream, errors } = open({
    async *poll() {
      yield { id: '1', type: 'message', data: 1 };
      throw failure;
    },
  });
  const read: string[] = [];
  for await (const text of stream) read.push(text);
  expect([read, errors]).toEqual([[retry, textOf(1)], [failure]]);
});

/** What a stream of events does with a reader that is no longer allowed to read. */
import { expect, it } from 'vitest';
import { ChangeFeed } from '../../../src/service/events/change-feed.ts';
import type { EventSource } from '../../../src/service/events/event-source.ts';
import { eventStream } from '../../../src/service/events/event-stream.ts';

it('ends in the middle of the available events when the reader is no longer allowed to read', async () => {
  const endlessSource: EventSource = {
    async *poll() {
      for (let number = 1; ; number++) yield { id: String(number), type: 'message', data: number };
    },
  };
  let mayRead = true;
  const stream = eventStream(endlessSource, {
    waker: new ChangeFeed({ onChange: () => () => undefined }).waker({}),
    signal: new AbortController().signal,
    heartbeatMilliseconds: 1_000,
    isAllowed: async () => mayRead,
    onError: (error) => {
      throw error;
    },
  });
  const read: string[] = [];
  for await (const text of stream) {
    read.push(text);
    if (read.length === 3) mayRead = false;
    if (read.length > 10) break;
  }
  expect(read).toEqual(['retry: 1000\n\n', 'id: 1\nevent: message\ndata: 1\n\n', 'id: 2\nevent: message\ndata: 2\n\n']);
});

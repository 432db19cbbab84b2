/** Writes events as server-sent events (HTML standard, section 9.2), with occasional comments, and an end that can be resumed. */
import type { Waker } from './change-feed.ts';
import type { EventSource, ServerEvent } from './event-source.ts';

/** Milliseconds after which a client reconnects when the stream has ended. */
const retryMilliseconds = 1_000;
const retryLine = `retry: ${retryMilliseconds}\n\n`;

export interface StreamOptions {
  /** Wakes when there might be new events. */
  waker: Waker;
  /** Aborted when the reader has disconnected or the service shuts down. */
  signal: AbortSignal;
  /** Milliseconds between two comments that keep the connection open. */
  heartbeatMilliseconds: number;
  /** Whether the reader is still allowed to read. */
  isAllowed: () => Promise<boolean>;
  /** Called when the source fails. The stream then ends, and the reader can reconnect. */
  onError: (error: unknown) => void;
}

/**
 * The text of a stream. Nothing is read from the source before the last piece has been consumed, so a slow reader takes up
 * the memory of one event, and one page of the source, at a time.
 */
export async function* eventStream(source: EventSource, options: StreamOptions): AsyncGenerator<string, void, undefined> {
  // This also sends the headers.
  yield retryLine;
  const texts = pieces(source, options);
  try {
    for (;;) {
      const next = await texts.next().catch(options.onError);
      if (next === undefined || next.done) break;
      // A reader that disconnects ends the stream here, although the source has not failed.
      yield next.value;
    }
  } finally {
    await texts.return();
  }
  if (options.signal.aborted) yield retryLine;
}

async function* pieces(source: EventSource, options: StreamOptions): AsyncGenerator<string, void, undefined> {
  const { waker, signal, heartbeatMilliseconds, isAllowed } = options;
  while (!signal.aborted && (await isAllowed())) {
    waker.reset();
    const events = source.poll();
    for (;;) {
      const { done, value } = await events.next();
      if (done === true && !value) return;
      if (done === true) break;
      yield eventText(value);
      // A slow reader might still be reading after its permission has ended.
      if (signal.aborted || !(await isAllowed())) break;
    }
    while (!signal.aborted && !(await waker.next(signal, heartbeatMilliseconds))) {
      if (signal.aborted || !(await isAllowed())) break;
      yield ':\n\n';
    }
  }
}

/** JSON contains no line breaks, so the data is one line. */
const eventText = ({ id, type, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

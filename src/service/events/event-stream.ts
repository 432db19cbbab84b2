/** Events as they are written: server-sent events (HTML standard, section 9.2), a comment now and then, and an end that can be resumed. */
import type { Waker } from './change-feed.ts';
import type { EventSource, ServerEvent } from './event-source.ts';

/** Milliseconds after which a client connects again when the stream has ended. */
const retryMilliseconds = 1_000;
const retryLine = `retry: ${retryMilliseconds}\n\n`;

export interface StreamOptions {
  /** Wakes when there may be something new. */
  waker: Waker;
  /** Aborted when the reader has left or the service ends. */
  signal: AbortSignal;
  /** Milliseconds between two comments that keep the connection open. */
  heartbeatMilliseconds: number;
  /** Whether the reader may still read. */
  allowed: () => Promise<boolean>;
  /** Is told when the source fails; the stream ends then, and the reader may connect again. */
  failed: (error: unknown) => void;
}

/**
 * The text of a stream. Nothing is read from the source before what was yielded has been taken, so a slow reader holds one
 * event, and a page of the source, at a time.
 */
export async function* eventStream(source: EventSource, options: StreamOptions): AsyncGenerator<string, void, undefined> {
  // Sends the headers, too.
  yield retryLine;
  try {
    yield* pieces(source, options);
  } catch (error) {
    options.failed(error);
  }
  if (options.signal.aborted) yield retryLine;
}

async function* pieces(source: EventSource, options: StreamOptions): AsyncGenerator<string, void, undefined> {
  const { waker, signal, heartbeatMilliseconds, allowed } = options;
  while (!signal.aborted && (await allowed())) {
    waker.reset();
    const events = source.look();
    for (;;) {
      const { done, value } = await events.next();
      if (done === true && !value) return;
      if (done === true) break;
      yield eventText(value);
      // A reader may take what there is slowly, for longer than it may read.
      if (signal.aborted || !(await allowed())) break;
    }
    while (!signal.aborted && !(await waker.next(signal, heartbeatMilliseconds))) {
      if (signal.aborted || !(await allowed())) break;
      yield ':\n\n';
    }
  }
}

/** JSON has no line breaks of its own, so the data is one line. */
const eventText = ({ id, type, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

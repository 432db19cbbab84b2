/** Opening a stream of events: tried once, for callers that poll when the service offers no stream. */
import { orAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Dispatcher } from '../base/undici.ts';
import { EventReader, isStream, type StreamHead } from './event-reader.ts';
import { retryAfter } from './limits/rate-limit.ts';

/** Milliseconds for the head of the answer and for its first piece: what is on the way must not hold it back. */
const openingMilliseconds = 10_000;
/** Without a sign of life for so long, in milliseconds, a stream is given up. Services send a comment far more often. */
const quietMilliseconds = 45_000;

/** There is no stream now. */
export class NoStreamError extends Error {
  /** The service has none: it is not to be asked again. */
  readonly final: boolean;
  /** Milliseconds to wait before another attempt, when the service says so. */
  readonly wait: number | undefined;
  readonly status: number | undefined;

  constructor(message: string, { final = false, wait, status }: { final?: boolean; wait?: number | undefined; status?: number } = {}) {
    super(message);
    this.final = final;
    this.wait = wait;
    this.status = status;
  }
}

/** Sends the request of a stream. @throws NoStreamError, what undici says of the connection, or the signal's reason */
export async function openStream(
  dispatcher: Dispatcher,
  request: Pick<Dispatcher.DispatchOptions, 'origin' | 'path'> & { headers: Record<string, string> },
  { clock, signal, onHead }: { clock: Clock; signal: AbortSignal; onHead: (head: StreamHead) => void },
): Promise<EventReader> {
  signal.throwIfAborted();
  const reader = new EventReader();
  const onAbort = (): void => reader.close(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  const late = new AbortController();
  try {
    dispatcher.dispatch(
      { ...request, method: 'GET', headersTimeout: openingMilliseconds, bodyTimeout: quietMilliseconds } as Dispatcher.DispatchOptions,
      reader,
    );
    const head = await orAborted(reader.head, signal);
    onHead(head);
    if (!isStream(head)) throw refusal(head, clock.now());
    const timer = clock.sleep(openingMilliseconds, late.signal).then(
      () => true,
      () => false,
    );
    if (await Promise.race([timer, reader.begun.then(() => false)]))
      throw new NoStreamError('something on the way holds the stream back', { final: true });
    return reader;
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    reader.close(error as Error);
    throw error;
  } finally {
    late.abort();
  }
}

/**
 * Why an answer is no stream. A service that does not know the operation says so in one of several ways; that it is busy, or that this
 * credential may not read, may change.
 */
function refusal({ status, headers }: StreamHead, now: number): NoStreamError {
  const passing = status === 401 || status === 403 || status === 408 || status === 429 || (status >= 500 && status !== 501);
  return new NoStreamError(`the service answered ${status}`, { final: !passing, wait: retryAfter(headers, now), status });
}

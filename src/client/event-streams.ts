/** Opens an event stream with one attempt, for callers that poll when the service offers no stream. */
import { orAborted } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Dispatcher } from '../base/undici.ts';
import { EventReader, isStream, type StreamHead } from './event-reader.ts';
import { retryAfter } from './limits/rate-limit.ts';

/** Milliseconds for the head of the response and for its first part, which intermediaries must not hold back. */
const openingMilliseconds = 10_000;
/** Milliseconds until the request must have been sent and answered: longer if connections have to be established, or wait for one another. */
const waitingMilliseconds = 30_000;
/** Milliseconds without data after which a stream is given up. Services send a comment far more often. */
const quietMilliseconds = 45_000;

/** There is no event stream at the moment. */
export class NoStreamError extends Error {
  /** Whether the service has no streams at all, so that trying again is pointless. */
  readonly final: boolean;
  /** Milliseconds to wait before another attempt, if the service requests it. */
  readonly wait: number | undefined;
  readonly status: number | undefined;

  constructor(message: string, { final = false, wait, status }: { final?: boolean; wait?: number | undefined; status?: number } = {}) {
    super(message);
    this.final = final;
    this.wait = wait;
    this.status = status;
  }
}

/** Sends the request for a stream. @throws NoStreamError, undici's connection error, or the signal's reason */
export async function openStream(
  dispatcher: Dispatcher,
  request: Pick<Dispatcher.DispatchOptions, 'origin' | 'path'> & { headers: Record<string, string> },
  { clock, signal, onHead }: { clock: Clock; signal: AbortSignal; onHead: (head: StreamHead) => void },
): Promise<EventReader> {
  signal.throwIfAborted();
  const reader = new EventReader();
  const onAbort = (): void => reader.close(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  const timeout = new AbortController();
  const passes = (milliseconds: number): Promise<true | undefined> =>
    clock.sleep(milliseconds, timeout.signal).then(
      () => true as const,
      () => undefined,
    );
  try {
    dispatcher.dispatch(
      { ...request, method: 'GET', headersTimeout: openingMilliseconds, bodyTimeout: quietMilliseconds } as Dispatcher.DispatchOptions,
      reader,
    );
    // Without a connection, the request would wait as long as the other streams are open.
    const head = await Promise.race([orAborted(reader.head, signal), passes(waitingMilliseconds)]);
    if (head === undefined || head === true) throw new NoStreamError('the request for the stream was not answered');
    onHead(head);
    if (!isStream(head)) throw refusal(head, clock.now());
    if (await Promise.race([passes(openingMilliseconds), reader.started]))
      throw new NoStreamError('an intermediary holds back the stream', { final: true });
    return reader;
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    reader.close(error as Error);
    throw error;
  } finally {
    timeout.abort();
  }
}

/**
 * Why a response is not a stream. Services that do not know the operation answer in various ways; being busy or rejecting this
 * credential may be temporary.
 */
function refusal({ status, headers }: StreamHead, now: number): NoStreamError {
  const isTemporary = status === 401 || status === 403 || status === 408 || status === 429 || (status >= 500 && status !== 501);
  return new NoStreamError(`the service answered ${status}`, { final: !isTemporary, wait: retryAfter(headers, now), status });
}

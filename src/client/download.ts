/**
 * Downloading from signed URLs: without a credential, streamed with flat memory. A download that breaks off is
 * resumed where the service says that the file is still the same one, and never passes for complete.
 */
import { AopsError, type ErrorDetails } from '../base/errors.ts';
import { retryPolicy } from './backoff.ts';
import type { Client } from './client.ts';
import { ServiceAnswerError, UnavailableError } from './errors.ts';
import { header, type ResponseHeaders } from './rate-limit.ts';
import { failure, send } from './transport.ts';
import type { Dispatcher } from './undici.ts';

/** How far a download has come. */
interface Position {
  received: number;
  /** Strong validator of what was received (RFC 9110, 8.8.3); without one there is nothing to resume. */
  etag: string | undefined;
}

/** A failure after which another attempt may help. */
class Interrupted extends Error {
  readonly outcome: AopsError;

  constructor(outcome: AopsError) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/**
 * The bytes behind a signed URL, which the service gives relative to itself or absolute.
 * @throws ServiceAnswerError, UnavailableError when it cannot be completed, or the signal's reason
 */
export async function* download(client: Client, url: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const address = new URL(url, client.baseUrl);
  const position: Position = { received: 0, etag: undefined };
  for (let retry = 0; ; retry += 1) {
    const before = position.received;
    try {
      yield* rest(await client.dispatcher(), address, position, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      if (position.received > before) retry = 0;
      if (retry >= retryPolicy.retries || (position.received > 0 && position.etag === undefined)) throw error.outcome;
      await client.backOff(retry, error.message, signal);
    }
  }
}

/** What has not been received yet, by one request. */
async function* rest(
  dispatcher: Dispatcher,
  address: URL,
  position: Position,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const details = { method: 'GET', path: address.pathname };
  const resume: Record<string, string> =
    position.received > 0 && position.etag ? { range: `bytes=${position.received}-`, 'if-range': position.etag } : {};
  try {
    const { statusCode, headers, body } = await send(dispatcher, {
      origin: address.origin,
      path: address.pathname + address.search,
      method: 'GET',
      headers: resume,
      signal,
      // Idle times: a long download may take as long as it keeps moving.
      headersTimeout: retryPolicy.attemptMilliseconds,
      bodyTimeout: retryPolicy.attemptMilliseconds,
    });
    const problem = problemWith(statusCode, headers, position, details);
    if (problem !== undefined) {
      await body.dump();
      throw problem;
    }
    const etag = header(headers, 'etag');
    position.etag = etag?.startsWith('"') ? etag : undefined;
    const end = position.received + Number(header(headers, 'content-length') ?? Number.NaN);
    for await (const chunk of body) {
      position.received += (chunk as Uint8Array).length;
      yield chunk as Uint8Array;
    }
    if (!Number.isNaN(end) && position.received !== end) {
      throw new Interrupted(new UnavailableError(`The download ended after ${position.received} of ${end} bytes.`, details));
    }
  } catch (error) {
    if (signal.aborted || error instanceof AopsError || error instanceof Interrupted) throw error;
    const { reason, final } = failure(error);
    const outcome = new UnavailableError(`The download broke off after ${position.received} bytes: ${reason}.`, details, error);
    throw final ? outcome : new Interrupted(outcome);
  }
}

/** Why an answer is not what was asked for. */
function problemWith(status: number, headers: ResponseHeaders, { received }: Position, details: ErrorDetails): Error | undefined {
  if (status === (received > 0 ? 206 : 200)) {
    const starts = received === 0 || header(headers, 'content-range')?.startsWith(`bytes ${received}-`) === true;
    return starts ? undefined : new UnavailableError('The service sent another part of the file than was asked for.', details);
  }
  if (status === 200)
    return new UnavailableError('The file changed while it was downloaded.', details, undefined, 'Run the command again.');
  const message = `The file could not be downloaded: the service answered ${status}.`;
  const error = new ServiceAnswerError(status, { error: 'download_failed', message }, details);
  return status >= 500 ? new Interrupted(error) : error;
}

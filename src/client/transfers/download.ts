/**
 * Downloads from signed URLs, without a credential and with constant memory. A download that breaks off is resumed if the
 * service proves that the file is unchanged, or else restarted, and is never taken for complete.
 */
import { createHash } from 'node:crypto';
import { AopsError } from '../../base/errors.ts';
import type { Client } from '../client.ts';
import { UnavailableError } from '../errors.ts';
import type { ResponseHeaders } from '../limits/rate-limit.ts';
import { retryPolicy } from '../retry-policy.ts';
import { failure, send } from '../transport.ts';
import { changedMeanwhile, type DownloadStep, examine, type Position } from './download-answer.ts';
import { printablePath, signedUrl } from './signed-url.ts';

export interface DownloadOptions {
  signal: AbortSignal;
  /** Size of the file in bytes, if the service reported it before. */
  size?: number;
  /** Discards everything that was yielded. Without it, a download that cannot be resumed fails. */
  restart?: () => Promise<void>;
  /** Another URL for the same file, in case the first expires during the download. */
  renew?: () => Promise<string>;
}

/** A failure after which another attempt may help. */
class Interruption extends Error {
  readonly outcome: AopsError;
  /** Whether the received part is useless. */
  readonly startOver: boolean;
  /** The headers of the response, which may request a pause. */
  readonly headers: ResponseHeaders;

  constructor(outcome: AopsError, { startOver = false, headers = {} }: { startOver?: boolean; headers?: ResponseHeaders } = {}) {
    super(outcome.message);
    this.outcome = outcome;
    this.startOver = startOver;
    this.headers = headers;
  }
}

/**
 * The bytes behind a signed URL, which may be absolute or relative to the service.
 * @throws ServiceAnswerError, UnavailableError, `file_changed` or `file_damaged` when it cannot be completed, or the signal's reason
 */
export async function* download(client: Client, url: string, options: DownloadOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const { signal } = options;
  let address = signedUrl(client.baseUrl, url);
  const position: Position = { received: 0, etag: undefined, total: undefined, digest: undefined };
  let hasRenewed = false;
  for (let retry = 0; ; retry += 1) {
    const progress = { resumed: false, from: position.received };
    try {
      yield* rest(client, address, position, options, progress);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Interruption)) {
        if (!isExpired(error) || retry === 0 || hasRenewed || !options.renew) throw error;
        hasRenewed = true;
        address = signedUrl(client.baseUrl, await options.renew());
        continue;
      }
      // A long download may break off many times, as long as every attempt makes progress.
      if (progress.resumed && position.received > progress.from) retry = 0;
      if (retry >= retryPolicy.retries) throw error.outcome;
      if (error.startOver || position.etag === undefined) await startOver(position, options, error.outcome);
      await client.backOff(retry, error.outcome, signal, error.headers);
    }
  }
}

/** Requests the part that has not been received yet. */
async function* rest(
  client: Client,
  address: URL,
  position: Position,
  options: DownloadOptions,
  progress: { resumed: boolean },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { signal } = options;
  const details = { method: 'GET', path: printablePath(address) };
  const resume: Record<string, string> =
    position.received > 0 && position.etag ? { range: `bytes=${position.received}-`, 'if-range': position.etag } : {};
  try {
    const { statusCode, headers, body } = await send(await client.dispatcher(), {
      origin: address.origin,
      path: address.pathname + address.search,
      method: 'GET',
      // Lengths, ranges and digests refer to the file itself only if the response is not compressed.
      headers: { 'accept-encoding': 'identity', ...resume },
      signal,
      // These are idle limits: a download may take any time as long as data keeps arriving.
      headersTimeout: retryPolicy.attemptMilliseconds,
      bodyTimeout: retryPolicy.attemptMilliseconds,
    });
    const step = examine(statusCode, headers, position, options.size, details);
    if (step.next !== 'take') {
      // The body of an error is not needed and may be of any size.
      body.on('error', () => undefined).destroy();
      throw step.next === 'fail' ? step.error : new Interruption(step.error, { startOver: step.startOver, headers });
    }
    progress.resumed = step.from > 0;
    await begin(position, step, options);
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      position.received += chunk.length;
      if (options.size !== undefined && position.received > options.size) break;
      position.digest?.hash.update(chunk);
      yield chunk;
    }
    finish(position, options.size ?? position.total, details);
  } catch (error) {
    if (error instanceof AopsError || error instanceof Interruption) throw error;
    const { reason, final } = failure(error);
    const outcome = new UnavailableError(`The download broke off after ${position.received} bytes: ${reason}.`, details, error);
    throw final ? outcome : new Interruption(outcome);
  }
}

/** Records what a response is going to deliver. */
async function begin(position: Position, step: Extract<DownloadStep, { next: 'take' }>, options: DownloadOptions): Promise<void> {
  const { from, total, etag, digest } = step;
  if (from < position.received) await startOver(position, options, changedMeanwhile({}));
  position.total = total;
  if (from > 0) return;
  position.etag = etag;
  position.digest = digest && { ...digest, hash: createHash(digest.algorithm) };
}

/** Makes sure that everything has arrived undamaged. */
function finish({ received, digest }: Position, expectedSize: number | undefined, details: { method: string; path: string }): void {
  if (expectedSize !== undefined && received !== expectedSize) {
    const message = `The download ended after ${received} of ${expectedSize} bytes.`;
    throw new Interruption(new UnavailableError(message, details), { startOver: received > expectedSize });
  }
  if (digest && digest.hash.digest('base64') !== digest.value) {
    const message = `The file arrived damaged: its ${digest.algorithm.toUpperCase()} digest does not match the one from the service.`;
    throw new Interruption(damagedFile(message, details), { startOver: true });
  }
}

const damagedFile = (message: string, details: { method: string; path: string }): AopsError =>
  new UnavailableError(message, details, undefined, 'Run the command again. If this persists, the file is damaged at the service.');

async function startOver(position: Position, { restart }: DownloadOptions, error: AopsError): Promise<void> {
  if (position.received > 0) {
    if (!restart) throw error;
    await restart();
  }
  Object.assign(position, { received: 0, etag: undefined, total: undefined, digest: undefined } satisfies Position);
}

const expiredStatuses = new Set<number | undefined>([401, 403, 410]);

/** Whether a download failed as services reject a signed URL that has expired. */
export const isExpired = (error: unknown): boolean => error instanceof AopsError && expiredStatuses.has(error.details.status);

/** Request bodies: read up to a limit, then parsed as what their operation takes. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';

export const jsonLimit = 1024 * 1024;
/** A file of 10 MB, and what multipart puts around it. */
export const uploadLimit = 10 * 1024 * 1024 + 64 * 1024;
/** So much of a body that nobody wants is read and thrown away: who is still writing does not read the answer. */
const drainLimit = 64 * 1024 * 1024;
const deepest = 64;

/** Requests that wait for "100 Continue" before they send their body, and how it is told to them (RFC 9110 section 10.1.1). */
const waiting = new WeakMap<IncomingMessage, () => void>();

/** Notes that the body of a request comes only when it is asked for. */
export const holdBody = (request: IncomingMessage, proceed: () => void): void => void waiting.set(request, proceed);

/** Asks for a body that is held back. Whoever reads a body calls it first. */
export function inviteBody(request: IncomingMessage): void {
  waiting.get(request)?.();
  waiting.delete(request);
}

/** Whether the request has a body of which some may still arrive, wanted or not. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** The bytes of a body. Throws 413 `body_too_large`, 408 `request_timeout`, 400 when the client leaves before it is read. */
export async function readBody(request: IncomingMessage, limit: number, milliseconds: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  // The received part was discarded with the connection, and no further event will be emitted.
  if (request.destroyed) throw cutOff();
  inviteBody(request);
  // By hand: an iterator and a sleep for each request take longer than most bodies do.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) fail(tooLarge(limit));
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const onClose = (): void => fail(cutOff());
    const fail = (error: unknown): void => {
      stop();
      request.pause();
      reject(error);
    };
    const timer = setTimeout(() => fail(tooSlow(milliseconds)), milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose);
    };
    request.on('data', onData).once('end', onEnd).once('error', fail).once('close', onClose);
  });
}

/**
 * The bytes of a body, piece by piece. While a piece is used nothing more is asked of the connection, so that what has not been
 * used yet waits with the client. A caller that stops early leaves the connection open for the response. Throws 413 `body_too_large`,
 * 408 `request_timeout`, 400 when the client leaves before it is read.
 * @param limit bytes
 * @param milliseconds how long the client may take; the time in which its bytes are used is not its own
 */
export async function* bodyChunks(request: IncomingMessage, limit = Infinity, milliseconds?: number): AsyncGenerator<Buffer, void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  inviteBody(request);
  const arrived: Buffer[] = [];
  let end: { error?: unknown } | undefined;
  let wake = (): void => undefined;
  const onData = (chunk: Buffer): void => {
    arrived.push(chunk);
    request.pause();
    wake();
  };
  const finish = (how: { error?: unknown }): void => {
    end ??= how;
    wake();
  };
  const onEnd = (): void => finish({});
  const onError = (error: unknown): void => finish({ error });
  const onClose = (): void => onError(cutOff());
  // By hand: the iterator of a request that is left early closes the connection.
  request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  if (request.destroyed) onClose();
  let left = milliseconds;
  let size = 0;
  try {
    for (;;) {
      if (arrived.length === 0 && end === undefined) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        request.resume();
        left = await withinTime(woken, left, () => finish({ error: tooSlow(milliseconds as number) }));
      }
      const chunk = arrived.shift();
      if (chunk !== undefined) {
        size += chunk.length;
        if (size > limit) throw tooLarge(limit);
        yield chunk;
      } else if (end !== undefined) {
        if ('error' in end) throw end.error;
        return;
      }
    }
  } finally {
    request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    request.pause();
  }
}

/** Waits, and returns how many of the milliseconds remain; calls `late` when none remain. Without a number there is no limit. */
async function withinTime(awaited: Promise<void>, milliseconds: number | undefined, late: () => void): Promise<number | undefined> {
  if (milliseconds === undefined) {
    await awaited;
    return undefined;
  }
  const begun = steadyTime(systemClock);
  const timer = setTimeout(late, milliseconds);
  await awaited;
  clearTimeout(timer);
  return Math.max(0, milliseconds - (steadyTime(systemClock) - begun));
}

const tooLarge = (limit: number): ServiceError => new ServiceError(413, 'body_too_large', `The body is larger than ${limit} bytes.`);

/** Nobody is there to read it. */
const cutOff = (): ServiceError => new ServiceError(400, 'invalid_request', 'The connection ended before the body did.');

const tooSlow = (milliseconds: number): ServiceError =>
  new ServiceError(408, 'request_timeout', `The body did not arrive within ${milliseconds / 1_000} seconds.`);

/**
 * Reads and discards the rest of a body, within limits of time and size. A connection that is closed while bytes
 * arrive is reset, and the answer that was sent may be lost with it.
 */
export async function drainBody(request: IncomingMessage, milliseconds: number): Promise<void> {
  if (waiting.has(request) || request.destroyed) return;
  const timeout = new AbortController();
  let size = 0;
  const drained = new Promise<void>((resolve) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > drainLimit) resolve();
    });
    for (const event of ['end', 'close', 'error']) request.once(event, () => resolve());
    request.resume();
  });
  await Promise.race([drained, systemClock.sleep(milliseconds, timeout.signal).catch(() => undefined)]);
  timeout.abort();
}

/** What a Content-Type is without its parameters. */
export const contentEssence = (contentType: string | undefined): string => (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** The JSON value of a body; undefined for an empty one. Throws 400 `invalid_request`. */
export function parseJson(bytes: Buffer, contentType: string | undefined): unknown {
  if (bytes.length === 0) return undefined;
  if (contentEssence(contentType) !== 'application/json') {
    throw new ServiceError(400, 'invalid_request', 'The body must be JSON, with the header "Content-Type: application/json".');
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ServiceError(400, 'invalid_request', `The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isDeeperThan(value, deepest)) throw new ServiceError(400, 'invalid_request', `The body is nested deeper than ${deepest} levels.`);
  return value;
}

/** Level by level, since recursion would end where the stack does. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}

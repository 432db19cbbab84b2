/** Request bodies: read up to a limit, then parsed as their operation requires. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { ServiceError } from '../errors.ts';

export const jsonLimit = 1024 * 1024;
/** A file of 10 MB, plus the overhead of multipart. */
export const uploadLimit = 10 * 1024 * 1024 + 64 * 1024;
/** An archive of many files. */
export const archiveLimit = 16 * 1024 * 1024;
/** How much of an unwanted body is read and discarded: a client that is still writing does not read the answer. */
const drainLimit = 64 * 1024 * 1024;
const maxDepth = 64;

/** Requests that wait for "100 Continue" before they send their body, and how to send it to them (RFC 9110 section 10.1.1). */
const heldBodies = new WeakMap<IncomingMessage, () => void>();

/** Records that a client sends the body of a request only when it is invited to. */
export const holdBody = (request: IncomingMessage, proceed: () => void): void => void heldBodies.set(request, proceed);

/** Invites the client to send a body that it holds back. Call this before reading a body. */
export function inviteBody(request: IncomingMessage): void {
  heldBodies.get(request)?.();
  heldBodies.delete(request);
}

/** Whether more of the request's body may still arrive. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** The bytes of a body. Throws 413 `body_too_large`, 408 `request_timeout`, 400 when the client leaves before it is read. */
export async function readBody(request: IncomingMessage, limit: number, milliseconds: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  // The received bytes are lost with the connection, and there will be no further events.
  if (request.destroyed) throw incompleteBody();
  inviteBody(request);
  // With listeners: an iterator and a sleep for each request take longer than most bodies do.
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
    const onClose = (): void => fail(incompleteBody());
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
 * The bytes of a body in chunks. While a chunk is processed, nothing more is read from the connection, so that the rest waits at the
 * client. A reader that stops early leaves the connection open for the answer. Throws 413 `body_too_large`, 408 `request_timeout`,
 * 400 when the client disconnects before the end.
 * @param limit bytes
 * @param milliseconds how long the client may take, not counting the time in which its bytes are processed
 */
export async function* bodyChunks(request: IncomingMessage, limit = Infinity, milliseconds?: number): AsyncGenerator<Buffer, void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  inviteBody(request);
  const chunks: Buffer[] = [];
  let end: { error?: unknown } | undefined;
  let wake = (): void => undefined;
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    request.pause();
    wake();
  };
  const finish = (outcome: { error?: unknown }): void => {
    end ??= outcome;
    wake();
  };
  const onEnd = (): void => finish({});
  const onError = (error: unknown): void => finish({ error });
  const onClose = (): void => onError(incompleteBody());
  // With listeners: leaving the iterator of a request early closes the connection.
  request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  if (request.destroyed) onClose();
  let remaining = milliseconds;
  let size = 0;
  try {
    for (;;) {
      if (chunks.length === 0 && end === undefined) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        request.resume();
        remaining = await withinTime(woken, remaining, () => finish({ error: tooSlow(milliseconds as number) }));
      }
      const chunk = chunks.shift();
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

/** Waits and returns the remaining milliseconds; calls `onTimeout` when they have passed. Without a number there is no limit. */
async function withinTime(promise: Promise<void>, milliseconds: number | undefined, onTimeout: () => void): Promise<number | undefined> {
  if (milliseconds === undefined) {
    await promise;
    return undefined;
  }
  const startTime = steadyTime(systemClock);
  const timer = setTimeout(onTimeout, milliseconds);
  await promise;
  clearTimeout(timer);
  return Math.max(0, milliseconds - (steadyTime(systemClock) - startTime));
}

const tooLarge = (limit: number): ServiceError => new ServiceError(413, 'body_too_large', `The body is larger than ${limit} bytes.`);

/** No client is left to read this error. */
const incompleteBody = (): ServiceError => new ServiceError(400, 'invalid_request', 'The connection ended before the body did.');

const tooSlow = (milliseconds: number): ServiceError =>
  new ServiceError(408, 'request_timeout', `The body did not arrive within ${milliseconds / 1_000} seconds.`);

/**
 * Reads and discards the rest of an unwanted body, within limits of time and size. A connection that is closed while bytes
 * arrive is reset, and the answer that was sent may be lost.
 */
export async function drainBody(request: IncomingMessage, milliseconds: number): Promise<void> {
  if (heldBodies.has(request) || request.destroyed) return;
  const timeout = new AbortController();
  let size = 0;
  const drain = new Promise<void>((resolve) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > drainLimit) resolve();
    });
    for (const event of ['end', 'close', 'error']) request.once(event, () => resolve());
    request.resume();
  });
  await Promise.race([drain, systemClock.sleep(milliseconds, timeout.signal).catch(() => undefined)]);
  timeout.abort();
}

/** A Content-Type without its parameters. */
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
    throw new ServiceError(400, 'invalid_request', `The body is not valid JSON: ${messageOf(error)}`);
  }
  if (isDeeperThan(value, maxDepth)) throw new ServiceError(400, 'invalid_request', `The body is nested deeper than ${maxDepth} levels.`);
  return value;
}

/** Checks level by level, because recursion would be limited by the stack. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = isContainer(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    // Loops, because most of a large body are values without further levels.
    const nextLevel: object[] = [];
    for (const container of level) for (const item of Object.values(container)) if (isContainer(item)) nextLevel.push(item);
    level = nextLevel;
  }
  return false;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** One attempt at one request: sends it, reads the whole answer, and says plainly what happened. Never retries, never follows. */
import type { Readable } from 'node:stream';
import { connectionProblem } from './connection-errors.ts';
import type { ResponseHeaders } from './rate-limit.ts';
import type { Dispatcher } from './undici.ts';

export interface TransportRequest {
  origin: string;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | Readable;
  /** Covers the whole attempt, body included. */
  signal: AbortSignal;
}

export interface TransportResponse {
  status: number;
  headers: ResponseHeaders;
  body: Buffer;
}

/** An attempt without a usable answer. */
export interface Failure {
  kind: 'failure';
  /** False when the service has certainly not seen the request; true when it may have carried it out. */
  maybeSent: boolean;
  /** True when trying again cannot help (TLS, protocol, size). */
  final: boolean;
  /** Half a sentence for people. */
  reason: string;
  /** What to do about it, where that is known. */
  hint?: string;
  cause: unknown;
}

/** What became of an attempt. */
export type Outcome = { kind: 'response'; response: TransportResponse } | Failure;

/** JSON answers are held in memory; more than this is no JSON answer. */
const bodyLimit = 32 * 1024 * 1024;

const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the host name could not be found',
  EAI_AGAIN: 'the host name could not be looked up just now',
  ENETUNREACH: 'the network is unreachable',
  EHOSTUNREACH: 'the host is unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stalled',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while sending',
};

/** Classifies a failure of the connection by its code. */
export function failure(error: unknown): Failure {
  const { code = '', message = '', name = '', syscall } = error as { code?: string; message?: string; name?: string; syscall?: string };
  const failed = (reason: string, maybeSent: boolean, final: boolean): Failure => ({
    kind: 'failure',
    maybeSent,
    final,
    reason,
    cause: error,
  });
  const problem = connectionProblem(error, failure);
  if (problem) return { kind: 'failure', maybeSent: false, cause: error, ...problem };
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return failed('the answer was no valid HTTP', true, true);
  if (code === 'ERR_BODY_LIMIT') return failed(message, true, true);
  return failed(reasons[code] ?? 'the connection failed', !notSentCodes.has(code) && syscall !== 'connect', false);
}

async function readAll(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > bodyLimit) {
      body.destroy();
      throw Object.assign(new Error(`the answer is larger than ${bodyLimit / 1_048_576} MiB`), { code: 'ERR_BODY_LIMIT' });
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/**
 * The answer to a request, its body still to be read. undici notices an abort only once it is connected; this ends
 * at once, with the signal's reason.
 */
export async function send(
  dispatcher: Dispatcher,
  request: Dispatcher.RequestOptions & { signal: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  const { signal } = request;
  signal.throwIfAborted();
  let stopListening = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stopListening = () => signal.removeEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([dispatcher.request(request), aborted]);
  } finally {
    stopListening();
  }
}

/** Sends a request once. Rejects only with the signal's reason. */
export async function attempt(dispatcher: Dispatcher, request: TransportRequest): Promise<Outcome> {
  try {
    const { statusCode, headers, body } = await send(dispatcher, request as Dispatcher.RequestOptions & { signal: AbortSignal });
    return { kind: 'response', response: { status: statusCode, headers, body: await readAll(body) } };
  } catch (error) {
    request.signal.throwIfAborted();
    return failure(error);
  }
}

/** One attempt at a request: sends it, reads the complete response, and reports what happened. It never retries and never follows redirects. */

import { orAborted } from '../base/abort.ts';
import { isInvalidHttp } from '../base/invalid-http.ts';
import type { Dispatcher } from '../base/undici.ts';
import { hasTooFewAddresses, tooFewAddresses } from '../base/web-assembly-memory.ts';
import { type Answer, exchange, type Listener } from './exchange.ts';
import { type ConnectionProblem, connectionProblem } from './network/connection-errors.ts';

export interface TransportRequest extends Listener {
  origin: string;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Covers the whole attempt, body included. */
  signal: AbortSignal;
}

/** The result of reading a body: its value, undefined when it is empty; or the problem with it, as part of a sentence. */
export type Reading =
  | { value: unknown; problem?: never }
  | {
      problem: string;
      /** Another attempt would get the same answer. */
      final?: true;
      /** The service never sends such a body: something else answered. */
      foreign?: true;
    };

export interface TransportResponse extends Answer {
  /** The result of reading the body, cached by `readJson`. */
  reading?: Reading;
}

/** An attempt without a usable answer. */
export interface Failure {
  kind: 'failure';
  /** False when the service has certainly not seen the request; true when it may have carried it out. */
  maybeSent: boolean;
  /** True when trying again cannot help (TLS, protocol, size). */
  final: boolean;
  /** True when the request was sent on a reused connection that was already closed: nothing is wrong with the service. */
  stale?: boolean;
  /** True when the answer came from something other than the service. */
  foreign?: boolean;
  /** Number of retries that may help, if it is lower than usual. */
  retries?: number;
  /** Part of a sentence for people. */
  reason: string;
  /** What to do about it, if known. */
  hint?: string;
  cause: unknown;
}

/** The outcome of an attempt. */
export type Outcome = { kind: 'response'; response: TransportResponse } | Failure;

const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'EMFILE',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the host name could not be found',
  EAI_AGAIN: 'the host name could not be looked up at the moment',
  ENETUNREACH: 'the network is unreachable',
  EHOSTUNREACH: 'the host is unreachable',
  ETIMEDOUT: 'the connection timed out',
  EACCES: 'the system does not permit the connection',
  EPERM: 'the system does not permit the connection',
  EMFILE: 'this process may not open more connections or files (`ulimit -n`)',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer arrived in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stalled',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while sending',
};

/** Classifies a failure of the connection by its code. */
export function failure(error: unknown): Failure {
  const { code = '', message = '', syscall } = error as { code?: string; message?: string; syscall?: string };
  const failureOf = (reason: string, maybeSent: boolean, final: boolean): Failure => ({
    kind: 'failure',
    maybeSent,
    final,
    reason,
    cause: error,
  });
  const problem = connectionProblem(error, failure) ?? addressLimitProblem(error);
  if (problem) return { kind: 'failure', maybeSent: false, cause: error, ...problem };
  if (/before secure TLS connection was established/.test(message)) return failureOf('the TLS handshake broke off', false, false);
  if (isInvalidHttp(error)) return failureOf('the answer was not valid HTTP', true, true);
  if (code === 'ERR_BODY_LIMIT') return failureOf(message, true, true);
  const plain = failureOf(
    reasons[code] ?? `the connection failed${code === '' ? '' : ` (${code})`}`,
    !notSentCodes.has(code) && syscall !== 'connect',
    false,
  );
  // A host name that does not exist will seldom exist a moment later.
  return code === 'ENOTFOUND' ? { ...plain, retries: 1 } : plain;
}

/** undici parses answers with WebAssembly, which it loads before it sends anything. */
function addressLimitProblem(error: unknown): ConnectionProblem | undefined {
  return hasTooFewAddresses(error) ? { reason: tooFewAddresses.reason, final: true, hint: tooFewAddresses.hint } : undefined;
}

/**
 * The response to a request, with its body still to be read. undici notices an abort only once it is connected; this rejects
 * immediately with the signal's reason.
 */
export async function send(
  dispatcher: Dispatcher,
  request: Dispatcher.RequestOptions & { signal: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  request.signal.throwIfAborted();
  return orAborted(dispatcher.request(request), request.signal);
}

/** Sends a request once. Rejects only with the signal's reason. */
export async function attempt(dispatcher: Dispatcher, request: TransportRequest): Promise<Outcome> {
  try {
    const { signal, onHead, onMessage, media, ...options } = request;
    const response = await exchange(dispatcher, options as Dispatcher.DispatchOptions, signal, { onHead, onMessage, media });
    return { kind: 'response', response };
  } catch (error) {
    request.signal.throwIfAborted();
    return failure(error);
  }
}

/**
 * The retry policy: what to do after an attempt, as a pure decision. The rules for changes follow part 8 of the interface:
 * a result that may exist is requested with the same key, and never produced a second time.
 */

import { backoff } from '../base/backoff.ts';
import { AopsError, type ErrorDetails, exitCodes } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';
import type { ErrorBody } from '../interface/types.ts';
import { errorBody } from './error-body.ts';
import { AnswerTooLargeError, OutcomeUnknownError, RateLimitedError, ServiceAnswerError, UnavailableError } from './errors.ts';
import { header, resetWait, retryAfter, serverTime, spread } from './limits/rate-limit.ts';
import type { ServiceRequest } from './request.ts';
import { hasUsableBody, isReplayed, readJson } from './response.ts';
import { retryPolicy } from './retry-policy.ts';
import type { Failure, Outcome, TransportResponse } from './transport.ts';

/** The state of one logical request between its attempts. */
export interface Progress {
  /** The idempotency key, for a request that changes something. */
  key: string | undefined;
  /** The key of the command it belongs to, which is reported to the user. */
  commandKey: string | undefined;
  retries: number;
  /** Whether an attempt may have reached the service although no answer arrived. */
  ambiguous: boolean;
  /** Whether renewing the token was tried. */
  refreshed: boolean;
  /** Whether the key was replaced. */
  rekeyed: boolean;
  /** Whether the journal contains the change until its outcome is known. */
  noted: boolean;
  /** Whether it was sent again immediately, after the first attempt used a connection that was already closed. */
  resent: boolean;
}

export type Decision =
  | { next: 'done'; response: TransportResponse }
  | { next: 'fail'; error: Error }
  | { next: 'retry'; waitMilliseconds: number; reason: string }
  /** Immediately, and not counted as a retry. */
  | { next: 'resend'; reason: string }
  /** A pause of all requests, requested by the rate limit. */
  | { next: 'wait'; waitMilliseconds: number }
  /** The service rejected the token; `error` is thrown if there is no other token. */
  | { next: 'refresh'; error: Error }
  /** The stored refusal of the key was replayed: the operation was never carried out, so a new key is safe. */
  | { next: 'rekey'; waitMilliseconds: number; reason: string };

/** Everything else a decision depends on. */
export interface Situation {
  progress: Progress;
  baseUrl: string;
  details: ErrorDetails;
  /** What to do about a rejected credential. */
  rejectedHint?: string | undefined;
  maxWaitMilliseconds: number;
  /** Milliseconds since the epoch, by the service's clock if that is known. */
  now: number;
  /** Whether the retry budget of the process allows another retry. */
  canAfford: boolean;
  /** Whether the request must not be retried. */
  once?: boolean;
  random: () => number;
}

/** Whether a request with the same key is still in progress at the service. */
const isRunning = (response: TransportResponse): boolean => errorBody(response).error === 'idempotency_in_progress';

/** The service does not support the request (RFC 9110, 15.6.2): nothing was carried out, and trying again is pointless. */
const notImplemented = 501;

/** Whether, judging by this attempt alone, it is unknown if a change was carried out. */
export function leavesOpen(outcome: Outcome): boolean {
  if (outcome.kind === 'failure') return outcome.maybeSent;
  const { status } = outcome.response;
  // The request in progress may be our own even if we sent it only once: an intermediary may have forwarded it twice.
  if (status === 409) return isRunning(outcome.response);
  return status === 408 || (status >= 500 && status !== notImplemented) || (status < 300 && !hasUsableBody(outcome.response));
}

/** The error of a refused change, or OutcomeUnknownError if an earlier attempt may have carried it out. */
export function orOutcomeUnknown(error: AopsError, progress: Progress): AopsError {
  if (progress.commandKey === undefined || !progress.ambiguous) return error;
  const reason = `an attempt may have reached the service, and the next one failed: ${error.message}`;
  return new OutcomeUnknownError(
    reason,
    { ...error.details, idempotency_key: progress.commandKey },
    { isNoted: progress.noted, cause: error },
  );
}

export function decide(outcome: Outcome, situation: Situation): Decision {
  if (outcome.kind === 'failure') return afterFailure(outcome, situation);
  const { response } = outcome;
  if (response.status < 300) {
    const reading = readJson(response);
    if (reading.problem === undefined) return { next: 'done', response };
    const { problem: reason, final = false, foreign = false } = reading;
    return afterFailure({ kind: 'failure', maybeSent: true, final, foreign, reason, cause: undefined }, situation);
  }
  if (response.status < 400) return { next: 'fail', error: orOutcomeUnknown(redirectError(response, situation), situation.progress) };
  return afterErrorStatus(response, situation);
}

function afterErrorStatus(response: TransportResponse, situation: Situation): Decision {
  const { status } = response;
  const { progress, details, random } = situation;
  const body = errorBody(response);
  const error = new ServiceAnswerError(status, body, details, status === 401 ? situation.rejectedHint : undefined);
  const running = body.error === 'idempotency_in_progress';
  if (progress.key !== undefined && isReplayed(response) && !running) {
    const isPoisoned = (status === 429 || status === 401) && !progress.rekeyed;
    return isPoisoned
      ? { next: 'rekey', waitMilliseconds: backoff(0, random), reason: `a stored ${status} was replayed` }
      : { next: 'fail', error: progress.retries > 0 || progress.resent ? error : storedAnswer(status, body, details) };
  }
  // A rejected credential says nothing about an earlier attempt with the same key.
  if (status === 401 && !progress.refreshed) return { next: 'refresh', error: orOutcomeUnknown(error, progress) };
  if (status === 401 || status === 403) return { next: 'fail', error: orOutcomeUnknown(error, progress) };
  if (status === 429) return afterRateLimit(response, situation, error);
  // After an ambiguous attempt, the conflict may be with our own first attempt, which is still in progress; its result will be replayed.
  if (status === 409 && (progress.ambiguous || running)) {
    const decision = retry(situation, 'an earlier attempt is still in progress', requestedWait(response, situation.now));
    if (decision) return decision;
    return {
      next: 'fail',
      error: running
        ? new OutcomeUnknownError('an earlier attempt with the same key is still in progress.', details, { isNoted: progress.noted })
        : error,
    };
  }
  if (status !== 408 && (status < 500 || status === notImplemented)) return { next: 'fail', error };
  // It was refused before anything was carried out, and will be for hours.
  if (body.error === 'idempotency_store_full') return { next: 'fail', error: orOutcomeUnknown(error, progress) };
  const decision = retry(situation, `the service answered ${status}`, requestedWait(response, situation.now));
  if (decision) return decision;
  if (progress.key === undefined) return { next: 'fail', error };
  return {
    next: 'fail',
    error: new OutcomeUnknownError(
      `the service answered ${status}${progress.retries > 0 ? ' to every attempt' : ''}${exhaustedText(situation)}${hostTroubleOf(body)}.`,
      details,
      { isNoted: progress.noted },
    ),
  };
}

/** Problems of the service's host, which its operator has to solve before a retry helps. */
const hostTroubles = [
  ...['disk_full', 'disk_failed', 'too_many_open_files', 'out_of_memory'],
  ...['database_unavailable', 'database_busy', 'files_unavailable'],
];
const hostTroubleOf = ({ error, message = '' }: { error: string; message?: string }): string =>
  hostTroubles.includes(error) ? `, ${error}: ${message.replace(/\.$/, '')}` : '';

/** The stored refusal of an earlier command: repeating the command under the same key cannot change it. */
function storedAnswer(status: number, body: ErrorBody, details: ErrorDetails): ServiceAnswerError {
  const hint = `This is what the service answered when the key ${details.idempotency_key} was first used; nothing was carried out now. Leave out --idempotency-key to try again.`;
  return new ServiceAnswerError(status, body, details, hint);
}

function afterRateLimit(response: TransportResponse, situation: Situation, error: AopsError): Decision {
  const { progress, random, now, details, maxWaitMilliseconds } = situation;
  const requestedPause = requestedWait(response, now) ?? resetWait(response.headers, serverTime(response.headers, now)) ?? 0;
  if (requestedPause > maxWaitMilliseconds)
    return { next: 'fail', error: orOutcomeUnknown(new RateLimitedError(requestedPause, maxWaitMilliseconds, details), progress) };
  if (!mayRetry(situation)) return { next: 'fail', error: orOutcomeUnknown(error, progress) };
  // If no time is specified, the pause starts at a second: limits seldom end sooner.
  return { next: 'wait', waitMilliseconds: Math.max(requestedPause, backoff(progress.retries + 1, random)) };
}

function afterFailure(failure: Failure, situation: Situation): Decision {
  const { progress, details, baseUrl } = situation;
  if (failure.stale && progress.key !== undefined && !progress.resent) return { next: 'resend', reason: failure.reason };
  const isFinal = failure.final || (failure.retries ?? retryPolicy.retries) <= progress.retries;
  const decision = isFinal ? undefined : retry(situation, failure.reason);
  if (decision) return decision;
  const reason = `${failure.reason}${isFinal ? '' : exhaustedText(situation)}.`;
  if (progress.key !== undefined && (progress.ambiguous || failure.maybeSent))
    return { next: 'fail', error: new OutcomeUnknownError(reason, details, { isNoted: progress.noted, cause: failure.cause }) };
  if ((failure.cause as { code?: string } | undefined)?.code === 'ERR_BODY_LIMIT')
    return { next: 'fail', error: new AnswerTooLargeError(failure.reason, details, failure.cause) };
  const address = new URL(baseUrl);
  if (failure.foreign) {
    const message = `Something other than the service answers at ${address.origin}: ${reason}`;
    return { next: 'fail', error: new UnavailableError(message, details, failure.cause, foreignAnswer) };
  }
  const hint = failure.hint ?? hintFor(failure, address);
  const error = new UnavailableError(`Could not reach ${address.origin}: ${reason}`, details, failure.cause, hint);
  error.final = failure.final;
  return { next: 'fail', error };
}

/** For captive portals, and for any other program at the address. */
const foreignAnswer = 'Check the base URL (`aops config explain`), and whether the network requires you to sign in with a browser first.';

function hintFor({ cause }: Failure, { protocol, hostname }: URL): string {
  const code = (cause as { code?: string } | undefined)?.code;
  // How a server that expects TLS reacts to a plain request.
  if (protocol === 'http:' && (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'))
    return 'If the service uses TLS, its address starts with https://. `aops config explain` shows where the address is set.';
  return isLoopback(hostname)
    ? 'Start the local service with `aops local up`, or choose another profile with --profile.'
    : 'Check the network and the base URL (`aops config explain`), then run the command again.';
}

function retry(situation: Situation, reason: string, requestedPause = 0): Decision | undefined {
  const { progress, random, maxWaitMilliseconds } = situation;
  if (situation.once || !mayRetry(situation) || requestedPause > maxWaitMilliseconds) return undefined;
  return { next: 'retry', waitMilliseconds: Math.max(spread(requestedPause, random), backoff(progress.retries, random)), reason };
}

const mayRetry = ({ progress, canAfford }: Situation): boolean => canAfford && progress.retries < retryPolicy.retries;

/** Why a request ends with fewer attempts than usual. */
const exhaustedText = ({ progress, canAfford, once }: Situation): string =>
  canAfford || once || progress.retries >= retryPolicy.retries
    ? ''
    : ', and this command has no retries left because too many of its requests failed';

const requestedWait = (response: TransportResponse, now: number): number | undefined =>
  retryAfter(response.headers, serverTime(response.headers, now));

function redirectError(response: TransportResponse, { details, baseUrl }: Situation): AopsError {
  const target = header(response.headers, 'location') ?? '';
  const url = target !== '' && URL.canParse(target, baseUrl) ? new URL(target, baseUrl) : undefined;
  // A redirect to another path of the same service: the operation was retired.
  const movedPath = url?.origin === new URL(baseUrl).origin ? url.pathname : undefined;
  return new AopsError(
    `The service answered with a redirect to ${movedPath ?? url?.origin ?? 'another address'}, and aops does not follow redirects.`,
    {
      code: 'redirected',
      exit: exitCodes.failure,
      hint: movedPath === undefined ? 'Set the base URL to the actual address of the service.' : 'Send the request to that path instead.',
      details: { status: response.status, ...details },
    },
  );
}

/** What an error tells programs about a request. */
export function detailsOf(request: ServiceRequest, progress: Progress, outcome?: Outcome): ErrorDetails {
  const requestId = outcome?.kind === 'response' ? header(outcome.response.headers, 'x-request-id') : undefined;
  return {
    method: request.method,
    path: request.path,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(progress.commandKey === undefined ? {} : { idempotency_key: progress.commandKey }),
  };
}

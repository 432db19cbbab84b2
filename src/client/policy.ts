/**
 * The retry policy: what to do after an attempt, as a pure decision. The rules for changes follow the interface's
 * part 8: an answer that may exist is looked for with the same key, never produced a second time.
 */
import { AopsError, type ErrorDetails, exitCodes } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';
import type { ErrorBody } from '../interface/types.ts';
import { backoff, retryPolicy } from './backoff.ts';
import { errorBody } from './error-body.ts';
import { AnswerTooLargeError, OutcomeUnknownError, RateLimitedError, ServiceAnswerError, UnavailableError } from './errors.ts';
import { header, resetWait, retryAfter, serverTime, spread } from './limits/rate-limit.ts';
import { hasUsableBody, isReplayed, readJson } from './response.ts';
import type { Failure, Outcome, TransportResponse } from './transport.ts';

/** What one logical request remembers between its attempts. */
export interface Progress {
  /** The idempotency key, for a request that changes something. */
  key: string | undefined;
  /** The key of the command it belongs to: the one to name to the user. */
  commandKey: string | undefined;
  retries: number;
  /** An attempt may have reached the service without an answer coming back. */
  ambiguous: boolean;
  /** The token was renewed, or found impossible to renew. */
  refreshed: boolean;
  /** The key was replaced. */
  rekeyed: boolean;
  /** It was sent again at once, after the first time went to a connection that was closed already. */
  resent: boolean;
}

export type Decision =
  | { next: 'done'; response: TransportResponse }
  | { next: 'fail'; error: Error }
  | { next: 'retry'; waitMilliseconds: number; reason: string }
  /** At once, and not counted as a retry. */
  | { next: 'resend'; reason: string }
  /** A pause that the rate limit asked for: of all requests. */
  | { next: 'wait'; waitMilliseconds: number }
  /** The service refused the token; `otherwise` is the failure when there is no other one. */
  | { next: 'refresh'; otherwise: Error }
  /** The key's stored refusal was replayed: the operation never ran, so one fresh key is safe. */
  | { next: 'rekey'; waitMilliseconds: number; reason: string };

/** Everything else a decision depends on. */
export interface Situation {
  progress: Progress;
  baseUrl: string;
  details: ErrorDetails;
  /** What to do about a rejected credential. */
  rejectedHint?: string | undefined;
  maxWaitMilliseconds: number;
  /** Milliseconds since the epoch, at the service where that is known. */
  now: number;
  /** Whether the process may retry anything more. */
  affordable: boolean;
  /** Whether it is to be tried once, whatever comes of it. */
  once?: boolean;
  random: () => number;
}

/** Whether the service is still carrying out a request with the same key. */
const isRunning = (response: TransportResponse): boolean => errorBody(response).error === 'idempotency_in_progress';

/** The service cannot do it, now or later (RFC 9110, 15.6.2): nothing was done, and trying again is no use. */
const notImplemented = 501;

/** Whether a change may or may not have been carried out after this outcome, as far as this attempt tells. */
export function leavesOpen(outcome: Outcome): boolean {
  if (outcome.kind === 'failure') return outcome.maybeSent;
  const { status } = outcome.response;
  // One that is running may be our own, passed on twice on the way, even when we have sent it once.
  if (status === 409) return isRunning(outcome.response);
  return status === 408 || (status >= 500 && status !== notImplemented) || (status < 300 && !hasUsableBody(outcome.response));
}

/** The failure of a change that was refused now, but may have been carried out by an attempt before. */
export function unlessOpen(error: AopsError, progress: Progress): AopsError {
  if (progress.commandKey === undefined || !progress.ambiguous) return error;
  const reason = `an attempt may have reached the service, and the next one failed: ${error.message}`;
  return new OutcomeUnknownError(reason, { ...error.details, idempotency_key: progress.commandKey }, error);
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
  if (response.status < 400) return { next: 'fail', error: unlessOpen(redirectError(response, situation), situation.progress) };
  return afterErrorStatus(response, situation);
}

function afterErrorStatus(response: TransportResponse, situation: Situation): Decision {
  const { status } = response;
  const { progress, details, random } = situation;
  const body = errorBody(response);
  const error = new ServiceAnswerError(status, body, details, status === 401 ? situation.rejectedHint : undefined);
  const running = body.error === 'idempotency_in_progress';
  if (isReplayed(response) && !running) {
    const poisoned = (status === 429 || status === 401) && !progress.rekeyed;
    return poisoned
      ? { next: 'rekey', waitMilliseconds: backoff(0, random), reason: `a stored ${status} was replayed` }
      : { next: 'fail', error: progress.retries > 0 || progress.resent ? error : storedAnswer(status, body, details) };
  }
  // Refusals of the caller say nothing of an earlier attempt with the same key.
  if (status === 401 && !progress.refreshed) return { next: 'refresh', otherwise: unlessOpen(error, progress) };
  if (status === 401 || status === 403) return { next: 'fail', error: unlessOpen(error, progress) };
  if (status === 429) return afterRateLimit(response, situation, error);
  // After an ambiguous attempt a conflict may be our own first attempt, still running; its result will be replayed.
  if (status === 409 && (progress.ambiguous || running)) {
    const again = retry(situation, 'an earlier attempt is still running', askedWait(response, situation.now));
    if (again) return again;
    return {
      next: 'fail',
      error: running ? new OutcomeUnknownError('an earlier attempt with the same key is still running.', details) : error,
    };
  }
  if (status !== 408 && (status < 500 || status === notImplemented)) return { next: 'fail', error };
  // Refused before anything was done, and for hours.
  if (body.error === 'idempotency_store_full') return { next: 'fail', error: unlessOpen(error, progress) };
  const again = retry(situation, `the service answered ${status}`, askedWait(response, situation.now));
  if (again) return again;
  if (progress.key === undefined) return { next: 'fail', error };
  return {
    next: 'fail',
    error: new OutcomeUnknownError(
      `the service answered ${status}${progress.retries > 0 ? ' to every attempt' : ''}${exhausted(situation)}${whyItCannot(body)}.`,
      details,
    ),
  };
}

/** What keeps the service itself from working, which whoever runs it has to mend before a retry helps. */
const hostTroubles = ['disk_full', 'disk_failed', 'too_many_open_files', 'out_of_memory'];
const whyItCannot = ({ error, message = '' }: { error: string; message?: string }): string =>
  hostTroubles.includes(error) ? `, ${error}: ${message.replace(/\.$/, '')}` : '';

/** A refusal that an earlier command got: repeating it under the same key cannot change it. */
function storedAnswer(status: number, body: ErrorBody, details: ErrorDetails): ServiceAnswerError {
  const hint = `This is what the service answered when the key ${details.idempotency_key} was first used; nothing was tried now. Leave out --idempotency-key to try again.`;
  return new ServiceAnswerError(status, body, details, hint);
}

function afterRateLimit(response: TransportResponse, situation: Situation, error: AopsError): Decision {
  const { progress, random, now, details, maxWaitMilliseconds } = situation;
  const asked = askedWait(response, now) ?? resetWait(response.headers, serverTime(response.headers, now)) ?? 0;
  if (asked > maxWaitMilliseconds)
    return { next: 'fail', error: unlessOpen(new RateLimitedError(asked, maxWaitMilliseconds, details), progress) };
  if (!mayRetry(situation)) return { next: 'fail', error: unlessOpen(error, progress) };
  // Without a word of when, a second at first: a limit is not over in a moment.
  return { next: 'wait', waitMilliseconds: Math.max(asked, backoff(progress.retries + 1, random)) };
}

function afterFailure(failure: Failure, situation: Situation): Decision {
  const { progress, details, baseUrl } = situation;
  if (failure.stale && progress.key !== undefined && !progress.resent) return { next: 'resend', reason: failure.reason };
  const hopeless = situation.once || failure.final || (failure.retries ?? retryPolicy.retries) <= progress.retries;
  const again = hopeless ? undefined : retry(situation, failure.reason);
  if (again) return again;
  const reason = `${failure.reason}${hopeless ? '' : exhausted(situation)}.`;
  if (progress.key !== undefined && (progress.ambiguous || failure.maybeSent))
    return { next: 'fail', error: new OutcomeUnknownError(reason, details, failure.cause) };
  if ((failure.cause as { code?: string } | undefined)?.code === 'ERR_BODY_LIMIT')
    return { next: 'fail', error: new AnswerTooLargeError(failure.reason, details, failure.cause) };
  const address = new URL(baseUrl);
  if (failure.foreign) {
    const message = `Something other than the service answers at ${address.origin}: ${reason}`;
    return { next: 'fail', error: new UnavailableError(message, details, failure.cause, foreignAnswer) };
  }
  const hint = failure.hint ?? adviceOn(failure, address);
  const error = new UnavailableError(`Could not reach ${address.origin}: ${reason}`, details, failure.cause, hint);
  error.final = failure.final;
  return { next: 'fail', error };
}

/** About a network that wants a sign-in, and any other program at the address. */
const foreignAnswer = 'Check the base URL (`aops config explain`), and whether the network asks you to sign in with a browser first.';

function adviceOn({ cause }: Failure, { protocol, hostname }: URL): string {
  const code = (cause as { code?: string } | undefined)?.code ?? '';
  // What a server that waits for TLS does with a plain request.
  if (protocol === 'http:' && ['UND_ERR_SOCKET', 'ECONNRESET'].includes(code))
    return 'If the service speaks TLS, its address begins with https://; `aops config explain` says where the address is set.';
  return isLoopback(hostname)
    ? 'Start the local service with `aops local up`, or choose another profile with --profile.'
    : 'Check the network and the base URL (`aops config explain`), then run the command again.';
}

function retry(situation: Situation, reason: string, asked = 0): Decision | undefined {
  const { progress, random, maxWaitMilliseconds } = situation;
  if (situation.once || !mayRetry(situation) || asked > maxWaitMilliseconds) return undefined;
  return { next: 'retry', waitMilliseconds: Math.max(spread(asked, random), backoff(progress.retries, random)), reason };
}

const mayRetry = ({ progress, affordable }: Situation): boolean => affordable && progress.retries < retryPolicy.retries;

/** Why a request ends with fewer attempts than usual. */
const exhausted = ({ progress, affordable, once }: Situation): string =>
  affordable || once || progress.retries >= retryPolicy.retries ? '' : ', and too many requests of this command have failed to try again';

const askedWait = (response: TransportResponse, now: number): number | undefined =>
  retryAfter(response.headers, serverTime(response.headers, now));

function redirectError(response: TransportResponse, { details, baseUrl }: Situation): AopsError {
  const target = header(response.headers, 'location') ?? '';
  const url = URL.canParse(target, baseUrl) ? new URL(target, baseUrl) : undefined;
  // Another path of the same service: the operation was retired.
  const moved = target !== '' && url?.origin === new URL(baseUrl).origin ? url.pathname : undefined;
  return new AopsError(
    `The service answered with a redirect to ${moved ?? url?.origin ?? 'another address'}, and aops does not follow redirects.`,
    {
      code: 'redirected',
      exit: exitCodes.failure,
      hint: moved === undefined ? 'Set the base URL to the address that the service really has.' : 'Send the request to that path instead.',
      details: { status: response.status, ...details },
    },
  );
}

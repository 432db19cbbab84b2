/** Requests an access token from a token endpoint (RFC 6749, 4.4), with oauth4webapi over the dispatcher of the HTTP client. */

import { backoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { AopsError, type ErrorDetails, exitCodes } from '../../base/errors.ts';
import type { Dispatcher } from '../../base/undici.ts';
import { isObject, jsonValue } from '../../base/values.ts';
import type { ClientEvent } from '../client.ts';
import { RateLimitedError, UnavailableError } from '../errors.ts';
import { retryAfter, serverTime } from '../limits/rate-limit.ts';
import { type Network, openDispatcher } from '../network/network.ts';
import { retryPolicy } from '../retry-policy.ts';
import { timeLimited } from '../time-limit.ts';
import { attempt, type Failure, type Outcome, type TransportResponse } from '../transport.ts';

export interface ClientCredentials {
  client_id: string;
  client_secret: string;
  token_url: string;
  /** Words separated by spaces; the client's default scope when left out. */
  scope?: string | undefined;
}

export interface TokenRequestOptions {
  userAgent: string;
  clock: Clock;
  network: Network | undefined;
  signal: AbortSignal | undefined;
  maxWaitMilliseconds: number;
  random: () => number;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

/** A token as issued by the endpoint. */
export interface GrantedToken {
  value: string;
  /** Milliseconds until it expires, counted from the request; 0 when the endpoint did not say. */
  lifetime: number;
  scope?: string;
}

/**
 * Requests a token, with retries after network errors, 429 and 5xx, but never after a refusal. Of the endpoint's answer, messages
 * contain only the error codes of the standard: anything else could be a secret.
 * @throws AopsError (exit 4) when refused, UnavailableError, RateLimitedError, or the signal's reason
 */
export async function requestToken(credentials: ClientCredentials, options: TokenRequestOptions): Promise<GrantedToken> {
  const oauth = await import('oauth4webapi');
  const dispatcher = await openDispatcher(options.network, 1);
  const url = new URL(credentials.token_url);
  const details = { method: 'POST', path: url.pathname };
  const server = { issuer: url.origin, token_endpoint: credentials.token_url };
  const client = { client_id: credentials.client_id };
  try {
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      (_server, _client, _body, headers) => headers.set('authorization', `Basic ${Buffer.from(basicPair(credentials)).toString('base64')}`),
      credentials.scope === undefined ? {} : { scope: credentials.scope },
      {
        // Plain http is only possible for this machine: config/base-url.ts rejects all other http addresses.
        [oauth.allowInsecureRequests]: url.protocol === 'http:',
        [oauth.customFetch]: async (_, { headers, body }) => {
          const form = { headers: { ...headers, 'user-agent': options.userAgent }, body: String(body) };
          const answer = await send(dispatcher, url, form, options);
          if (answer.status !== 200) throw refusal(answer, details);
          return webResponse(answer);
        },
      },
    );
    const token = await oauth.processClientCredentialsResponse(server, client, response).catch(() => {
      throw unusableResponse(details);
    });
    if (!/^[\x21-\x7e]+$/.test(token.access_token)) throw unusableResponse(details);
    return {
      value: token.access_token,
      lifetime: (token.expires_in ?? 0) * 1_000,
      ...(token.scope === undefined ? {} : { scope: token.scope }),
    };
  } finally {
    await dispatcher.destroy();
  }
}

/**
 * The pair that Basic authentication encodes (RFC 6749, 2.3.1), which is a secret too. Only the characters that browsers escape in
 * forms are escaped: many servers decode nothing, so IDs such as UUIDs must arrive unchanged. The library would also escape dashes.
 */
export const basicPair = ({ client_id, client_secret }: ClientCredentials): string =>
  `${formEncode(client_id)}:${formEncode(client_secret)}`;
const formEncode = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);

interface Form {
  headers: Record<string, string>;
  body: string;
}

/** The final response to a form, whatever its status. */
async function send(dispatcher: Dispatcher, url: URL, form: Form, options: TokenRequestOptions): Promise<TransportResponse> {
  const details = { method: 'POST', path: url.pathname };
  for (let retry = 0; ; retry += 1) {
    const startedAt = options.clock.now();
    const run = (limit: AbortSignal): Promise<Outcome> =>
      attempt(dispatcher, { ...form, origin: url.origin, path: url.pathname + url.search, method: 'POST', signal: limit });
    const outcome = await timeLimited(options.clock, options.signal ?? new AbortController().signal, run);
    const trace = { type: 'trace', method: 'POST', url: url.origin + url.pathname, milliseconds: options.clock.now() - startedAt } as const;
    options.onEvent?.(outcome.kind === 'failure' ? { ...trace, reason: outcome.reason } : { ...trace, status: outcome.response.status });
    const problem =
      outcome.kind === 'failure' ? unreachable(outcome, url, details) : unavailableProblem(outcome.response, details, options);
    if (outcome.kind === 'response' && problem === undefined) return outcome.response;
    if (problem?.waitMilliseconds === undefined || retry >= retryPolicy.retries) throw problem?.error;
    const waitMilliseconds = Math.max(problem.waitMilliseconds, backoff(retry, options.random));
    options.onEvent?.({ type: 'retry', reason: problem.reason, waitMilliseconds, attempt: retry + 1 });
    await options.clock.sleep(waitMilliseconds, options.signal);
  }
}

/** Why there is no usable response, and the shortest pause after which another attempt may help, if one can. */
interface Problem {
  error: AopsError;
  reason: string;
  waitMilliseconds?: number;
}

function unreachable({ reason, hint, cause, final }: Failure, { origin }: URL, details: ErrorDetails): Problem {
  const advice = hint ?? 'Check the network and the token URL (`aops auth status`), then run the command again.';
  const error = new UnavailableError(`Could not get an access token from ${origin}: ${reason}.`, details, cause, advice);
  return { error, reason: `no access token: ${reason}`, ...(final ? {} : { waitMilliseconds: 0 }) };
}

function unavailableProblem(
  { status, headers }: TransportResponse,
  request: ErrorDetails,
  options: TokenRequestOptions,
): Problem | undefined {
  if (status !== 429 && status < 500) return undefined;
  const details = { ...request, status };
  const now = options.clock.now();
  const requestedPause = retryAfter(headers, serverTime(headers, now)) ?? 0;
  const reason = `the token endpoint answered ${status}`;
  if (requestedPause <= options.maxWaitMilliseconds) {
    return { error: status === 429 ? tooManyRequests(details) : endpointDown(reason, details), reason, waitMilliseconds: requestedPause };
  }
  return {
    error: status === 429 ? new RateLimitedError(requestedPause, options.maxWaitMilliseconds, details) : endpointDown(reason, details),
    reason,
  };
}

const endpointDown = (reason: string, details: ErrorDetails): UnavailableError =>
  new UnavailableError(`Could not get an access token: ${reason}.`, details, undefined, 'Run the command again later.');

const tooManyRequests = (details: ErrorDetails): AopsError =>
  new AopsError('Could not get an access token: the token endpoint answered 429 to every attempt.', {
    code: 'rate_limited',
    exit: exitCodes.rateLimited,
    hint: 'Run the command again later.',
    details,
  });

function refusal({ status, body }: TransportResponse, details: ErrorDetails): AopsError {
  const value = jsonValue(body.toString('utf8'));
  const error = isObject(value) ? value.error : undefined;
  const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'token_refused';
  const isRedirect = status >= 300 && status < 400;
  const message = isRedirect
    ? `The token endpoint answered with a redirect (${status}), and aops does not follow redirects.`
    : `The token endpoint refused the client credentials (${status} ${code}).`;
  const hints: Record<string, string> = { invalid_scope: 'Check the scope: `aops auth login --scope`, or AOPS_SCOPE.' };
  const hint =
    isRedirect || status === 404 || status === 405
      ? 'Check the token URL: `aops auth login --token-url`, or AOPS_TOKEN_URL.'
      : 'Check the client ID and secret, then sign in again with `aops auth login --client-id ID --token-url URL`.';
  return new AopsError(message, { code, exit: exitCodes.auth, hint: hints[code] ?? hint, details: { ...details, status } });
}

const unusableResponse = (details: ErrorDetails): AopsError =>
  new AopsError('The token endpoint answered without a usable bearer token.', {
    code: 'token_refused',
    exit: exitCodes.auth,
    hint: 'Check that the token URL belongs to an OAuth 2.0 token endpoint.',
    details: { ...details, status: 200 },
  });

/** The response in the form that oauth4webapi reads. An invalid lifetime is dropped: the token is usable all the same. */
function webResponse({ body }: TransportResponse): Response {
  const value = jsonValue(body.toString('utf8'));
  const answer = isObject(value) ? value : {};
  const hasLifetime = Number.parseFloat(String(answer.expires_in)) >= 0;
  return Response.json(hasLifetime ? answer : { ...answer, expires_in: undefined });
}

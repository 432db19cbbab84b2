/** Tokens by OAuth 2.0 client credentials (RFC 6749, 4.4), held in memory until shortly before they expire. */
import { type Clock, systemClock } from '../base/clock.ts';
import { AopsError, exitCodes } from '../base/errors.ts';
import type { Credential } from './credential.ts';
import { UnavailableError } from './errors.ts';
import { attempt } from './transport.ts';
import { Agent } from './undici.ts';

export interface ClientCredentials {
  client_id: string;
  client_secret: string;
  token_url: string;
}

interface Token {
  value: string;
  /** Milliseconds; 0 when the service did not say how long it lasts, so that it is used for one request only. */
  staleAt: number;
}

const attemptMilliseconds = 30_000;

/** A credential that fetches its token when it is first needed, once for all requests that wait for it. */
export function clientCredential(given: ClientCredentials, clock: Clock = systemClock): Credential {
  let current: Token | undefined;
  let fetching: Promise<Token> | undefined;
  const fetchOnce = async (signal: AbortSignal | undefined): Promise<Token> => {
    fetching ??= fetchToken(given, clock, signal).finally(() => {
      fetching = undefined;
    });
    current = await fetching;
    return current;
  };
  return {
    async authorization(signal) {
      const token = current && current.staleAt > clock.now() ? current : await fetchOnce(signal);
      return `Bearer ${token.value}`;
    },
    async refresh(rejected) {
      if (current && `Bearer ${current.value}` === rejected) current = undefined;
      return true;
    },
  };
}

/** RFC 6749 2.3.1: id and secret are form-encoded before they are joined. */
const basic = (id: string, secret: string): string => Buffer.from(`${formEncode(id)}:${formEncode(secret)}`).toString('base64');
const formEncode = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);

async function fetchToken(
  { client_id, client_secret, token_url }: ClientCredentials,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Token> {
  const { origin, pathname, search } = new URL(token_url);
  const started = clock.now();
  const agent = new Agent({ connections: 1 });
  try {
    const outcome = await attempt(agent, {
      origin,
      path: pathname + search,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${basic(client_id, client_secret)}`,
      },
      body: 'grant_type=client_credentials',
      signal: AbortSignal.any([AbortSignal.timeout(attemptMilliseconds), ...(signal ? [signal] : [])]),
    });
    const details = { method: 'POST', path: pathname };
    if (outcome.kind === 'failure')
      throw new UnavailableError(`Could not reach ${origin} for a token: ${outcome.reason}.`, details, outcome.cause);
    return readToken(outcome.response.status, outcome.response.body, started, details);
  } finally {
    await agent.destroy();
  }
}

/** The token of an answer. What the answer holds never gets into a message: it may be a secret. */
function readToken(status: number, body: Buffer, started: number, details: { method: string; path: string }): Token {
  const answer = parse(body);
  if (status === 200 && typeof answer.access_token === 'string' && /^[\x21-\x7e]+$/.test(answer.access_token)) {
    const lifetime = Number(answer.expires_in) * 1_000;
    const margin = Math.max(30_000, lifetime / 10);
    return { value: answer.access_token, staleAt: lifetime > 0 ? started + lifetime - margin : 0 };
  }
  if (status === 429 || status >= 500) throw new UnavailableError(`The token endpoint answered ${status}.`, { ...details, status });
  const code = typeof answer.error === 'string' && /^[a-z_]{1,40}$/.test(answer.error) ? answer.error : 'token_refused';
  throw new AopsError(`The token endpoint refused the client credentials (${status} ${code}).`, {
    code,
    exit: exitCodes.auth,
    hint: 'Check the client id and secret, and sign in again with `aops auth login`.',
    details: { ...details, status },
  });
}

function parse(body: Buffer): { access_token?: unknown; expires_in?: unknown; error?: unknown } {
  try {
    return (JSON.parse(body.toString('utf8')) as object | null) ?? {};
  } catch {
    return {};
  }
}

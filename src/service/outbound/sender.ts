/**
 * Makes one attempt to deliver a webhook or a push: a POST on a new connection, to an address that is checked right before. It follows no redirects,
 * takes at most 15 seconds in total, and reads only the first 2 KB of the response.
 */

import { Buffer } from 'node:buffer';
import { orAborted } from '../../base/abort.ts';
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { Dispatcher } from '../../base/undici.ts';
import { version } from '../../base/version.ts';
import { hostTrouble } from '../host-trouble.ts';
import { retryAfter } from './attempt-times.ts';
import { GuardedAgent } from './guarded-agent.ts';
import type { HostRules } from './host-rules.ts';
import { connectionProblem } from './problems.ts';
import type { Lookup } from './system-lookup.ts';
import { withinTime } from './within-time.ts';

/** The time limit for connecting, sending, and the response together, in milliseconds. */
const deadline = 15_000;
const maxBodyBytes = 2_048;

/** The result of an attempt. */
export interface SendResult {
  /** Null when there was no response. */
  status: number | null;
  /** Why it does not count as delivered, as half a sentence; null for 2xx. */
  error: string | null;
  /** The beginning of the response body. */
  body: string | null;
  /** How long the receiver does not want any requests, in milliseconds. */
  retryAfter: number | undefined;
  /** In milliseconds. */
  duration: number;
}

export class Sender {
  readonly #clock: Clock;
  readonly #agent: GuardedAgent;

  /** @param parts `refusalMessage` returns half a sentence about a host that the rules do not allow */
  constructor(parts: { clock: Clock; rules: HostRules; lookup?: Lookup | undefined; refusalMessage: (host: string) => string }) {
    this.#clock = parts.clock;
    this.#agent = new GuardedAgent({ ...parts, deadline });
  }

  /** Sends one request. Rejects with the signal's reason, or with a problem of the host, which does not count as an attempt. */
  async post(url: string, headers: Record<string, string>, body: string | Buffer, signal: AbortSignal): Promise<SendResult> {
    const startTime = steadyTime(this.#clock);
    const duration = (): number => Math.max(0, Math.round(steadyTime(this.#clock) - startTime));
    const timeoutError = (): Error => new Error(`no response within ${deadline / 1_000} s`);
    try {
      return await withinTime(this.#clock, { limit: deadline, timeoutError, signal }, async (anySignal) => {
        const response = await this.#request(url, headers, body, anySignal);
        const status = response.statusCode;
        const text = await readBeginning(response.body, anySignal);
        const retryAfter = this.#retryAfter(response);
        return { status, error: problemOf(status, response.headers), body: text, retryAfter, duration: duration() };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (hostTrouble(error) !== undefined) throw error;
      return { status: null, error: connectionProblem(error), body: null, retryAfter: undefined, duration: duration() };
    }
  }

  /** Whether an address of the host is allowed; see GuardedAgent. */
  isAllowed(host: string): Promise<boolean> {
    return this.#agent.isAllowed(host);
  }

  /** Aborts all requests in progress. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  #request(url: string, headers: Record<string, string>, body: string | Buffer, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = new URL(url);
    const ownHeaders = { 'content-type': 'application/json', 'user-agent': `aops/${version}` };
    return this.#agent.dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: { ...ownHeaders, ...headers },
      body,
      signal,
    });
  }

  #retryAfter({ headers }: Dispatcher.ResponseData): number | undefined {
    return retryAfter([headers['retry-after']].flat()[0], this.#clock.now());
  }
}

/** The first bytes of a body as text. A broken body changes nothing, because the status is already known. */
async function readBeginning(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<string> {
  body.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let size = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size >= maxBodyBytes) break;
    }
  };
  await orAborted(read(), signal).catch(() => undefined);
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, maxBodyBytes), { stream: true });
}

/** Only 2xx is a success; a redirect is not followed, so it is a failure. */
function problemOf(status: number, headers: Dispatcher.ResponseData['headers']): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return `answered ${status}${headers.location === undefined ? '' : ', a redirect'}; redirects are not followed`;
  return `answered ${status}`;
}
